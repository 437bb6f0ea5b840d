"""Algorithms that raise whole columns through their hierarchies."""
