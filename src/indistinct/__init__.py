"""Publish tables about people so that nobody in them can be singled out."""

__version__ = "0.1.0"
