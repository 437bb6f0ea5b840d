"""Where chance comes from: the operating system, or for tests a seed that the certificate confesses."""

from indistinct.randomness.secret import Secret, mixed
from indistinct.randomness.shuffling import random_order, random_words, shuffle_runs

__all__ = ["Secret", "mixed", "random_order", "random_words", "shuffle_runs"]
