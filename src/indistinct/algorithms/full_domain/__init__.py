"""Full-domain algorithms: whole columns are generalized to a level of their hierarchies."""
