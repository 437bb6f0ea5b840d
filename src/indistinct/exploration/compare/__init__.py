"""Algorithms, models and budgets compared on one table: a grid of releases that are made, judged and thrown away."""
