"""Queries answered on what a recoding published, whichever engine wrote it: estimates, bounds, and what is exact."""
