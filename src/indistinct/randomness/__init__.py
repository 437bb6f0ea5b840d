"""Where chance comes from: the operating system, or for tests a seed that the certificate confesses."""

from indistinct.randomness.shuffling import random_order, random_words, shuffle_runs

__all__ = ["random_order", "random_words", "shuffle_runs"]
