"""Algorithms search cells for a recoding; they know no rows and no engine."""
