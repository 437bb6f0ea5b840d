"""What a release is worth: metrics, distributions, learning."""
