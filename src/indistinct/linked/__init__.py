"""Several tables about the same people: one people table, event tables, and one guarantee over all of them."""
