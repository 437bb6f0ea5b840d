"""Studies of tables and releases: scan a file for leaks, explore the lattice, compare algorithms and models."""
