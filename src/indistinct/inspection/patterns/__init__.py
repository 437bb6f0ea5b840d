"""What a column's values look like, in any language: patterns that suggest a role before any recoding is searched."""
