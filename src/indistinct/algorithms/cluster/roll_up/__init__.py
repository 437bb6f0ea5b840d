"""The roll-up of two-level clustering: cells that are too few are grouped on higher and higher levels into classes."""
