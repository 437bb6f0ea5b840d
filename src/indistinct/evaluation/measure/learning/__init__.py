"""What can be learned from a release: classifiers that are trained on it and judged on the original."""
