"""Measurements against peers that run in the same minute; never part of the tests."""
