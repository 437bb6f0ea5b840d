"""Engines count tables and apply recodings to their rows; they know no algorithm."""
