"""A release beside earlier ones: a ledger, and what all of them tell together."""
