"""A study's own analysis on the original and on a release: which estimates survive."""
