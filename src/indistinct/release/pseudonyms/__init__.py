"""Pseudonyms in place of identifiers, and what they link."""
