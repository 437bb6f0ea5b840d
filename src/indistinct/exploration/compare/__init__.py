"""Compare algorithms, models and suppression limits on one table: a grid of releases that are judged and discarded."""
