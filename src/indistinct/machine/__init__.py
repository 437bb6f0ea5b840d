"""The lowest layer: arrays, compiled code, memory, private files, locks, randomness."""
