"""What a reader of a release sees: columns and what their labels cover, and slices of published values with counts."""
