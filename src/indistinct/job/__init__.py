"""Anonymization jobs: a policy (table, roles, privacy model, algorithm, output), its sources, and how it runs."""
