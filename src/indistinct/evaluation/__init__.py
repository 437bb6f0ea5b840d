"""Judging a published table: verify, assess, attack, query, measure, and the verdict that joins them."""
