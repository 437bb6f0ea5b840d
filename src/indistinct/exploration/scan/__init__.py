"""What a published file betrays beside its cells: columns nobody chose, order, metadata, values of suppressed rows."""
