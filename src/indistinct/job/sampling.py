"""A sample as protection: some rows are drawn before anything else, and outsiders do not know which people are in it.

Engines draw (`engines/sampling.py`).
"""

from typing import Any

from indistinct.engines.base import Source
from indistinct.errors import Feasible, InfeasibleError, ParameterError
from indistinct.figures import plural
from indistinct.models import Model


def check_share(share: Any) -> float:
    """Return the share of rows that is drawn; raise `ParameterError` unless it is above 0 and at most 1.

    >>> check_share(0.1)
    0.1
    """
    if isinstance(share, bool) or not isinstance(share, int | float) or not 0 < share <= 1:
        raise ParameterError(
            "`sample` must be a number above 0 and at most 1",
            parameter="sample",
            problem="must be a number above 0 and at most 1",
            hint="0.1 draws one row in ten",
        )
    return float(share)


def require_enough(sampled: Source, share: float, model: Model) -> None:
    """Raise `InfeasibleError` where a sample has fewer rows than every class, or combination of values, must have."""
    least = model.in_classes().smallest
    if sampled.rows < least:
        raise InfeasibleError(
            f"a sample of {share:g} has {plural(sampled.rows, 'row')}; {model.spec()} needs at least {least}",
            hint="draw a larger sample, or ask for smaller classes",
            feasible=Feasible({"k": sampled.rows}) if sampled.rows else None,
        )
