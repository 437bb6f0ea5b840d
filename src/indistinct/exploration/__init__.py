"""Looking around: scan a file for leaks, explore the lattice, compare algorithms and models."""
