"""A release compared with earlier ones: a ledger, and what all of them reveal together."""
