"""Recodings: what to publish for each combination of quasi-identifier values."""
