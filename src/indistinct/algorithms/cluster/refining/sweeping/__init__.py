"""Sweeps of the local search over all members of classes, one move after the other, while the model still holds."""
