"""A first look at a table: the content of each column, its suggested role, and which columns single people out."""
