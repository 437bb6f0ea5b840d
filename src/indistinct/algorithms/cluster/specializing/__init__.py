"""Specializing: parts of a table go down their hierarchies, and what cannot go stays behind as a class."""
