"""Forms of regulators and committees, filled with the figures of a report."""
