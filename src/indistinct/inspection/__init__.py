"""A first look at a table: what each column holds, which role it may have, and which columns single people out."""
