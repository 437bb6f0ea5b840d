"""What follows publishing: each question about a table or a release has one home."""
