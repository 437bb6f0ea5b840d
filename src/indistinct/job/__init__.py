"""A job: a policy with its sources, and how it runs."""
