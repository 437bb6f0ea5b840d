"""Queries to a table or its release: the query, the conditions of its rows, and workloads of many queries."""
