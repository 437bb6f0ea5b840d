"""Runs of the command line."""

from references.command_line import run, unknown_width  # noqa: F401 (fixtures)
