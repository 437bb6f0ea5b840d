"""What is asked of a table or of its recoding: queries, the conditions of their rows, and workloads of many."""
