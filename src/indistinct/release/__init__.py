"""Releases: the published table, its certificate, and how both get to disk."""
