"""Frequency sets: the cells that a search sees instead of rows."""
