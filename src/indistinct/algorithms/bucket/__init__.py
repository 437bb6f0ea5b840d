"""Algorithms that break the links between attributes inside buckets of rows instead of recoding their values."""
