"""Attacks on published releases: each tries what an attacker would, and says how often it succeeded."""
