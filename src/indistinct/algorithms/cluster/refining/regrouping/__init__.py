"""Regrouping: a few neighbouring classes are taken apart and their members gathered into classes anew."""
