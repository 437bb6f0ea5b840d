"""Local search: what the classes of a recoding cost, and the moves of members that make them cost less."""
