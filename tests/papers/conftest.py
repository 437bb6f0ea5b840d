"""Runs of `indistinct reproduce`."""

from references.command_line import run, unknown_width  # noqa: F401 (fixtures)
