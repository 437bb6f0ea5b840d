"""Algorithms that cut the space of quasi-identifier values into regions."""
