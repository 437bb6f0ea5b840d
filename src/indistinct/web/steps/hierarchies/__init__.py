"""The step `hierarchies`: to which coarser values each column may be recoded, with what becomes of its values."""

from indistinct.web.steps.hierarchies.page import draw

__all__ = ["draw"]
