"""Column generalization of slicing: an algorithm recodes the attributes of one column until its values repeat."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from indistinct.algorithms.base import Algorithm, Problem
from indistinct.algorithms.full_domain.optimal import Optimal
from indistinct.algorithms.partition.mondrian import Mondrian
from indistinct.algorithms.partition.single_dimensional import SingleDimensional
from indistinct.arrays import Codes
from indistinct.errors import InfeasibleError
from indistinct.models.k_anonymity import KAnonymity
from indistinct.recoding.assign import assign
from indistinct.recoding.kinds import Recoding
from indistinct.recoding.projection import project

GENERALIZERS: Mapping[str, Algorithm] = MappingProxyType(
    {algorithm.name: algorithm for algorithm in (Mondrian(), SingleDimensional(), Optimal())}
)
"""Algorithms whose recodings send every vector to one class and suppress none."""


def generalize_slices(
    problem: Problem, slices: Sequence[Sequence[str]], *, k: int, generalizer: str
) -> tuple[tuple[Recoding, ...], dict[int, Codes]]:
    """Return recodings under which the known values of every slice occur at least `k` times in the table.

    The second part has, for the place of each such slice, the class of every cell.
    """
    if k < 2:
        return (), {}
    frequencies = problem.frequencies
    if k > frequencies.rows:
        raise InfeasibleError(
            f"every value of a column is to occur {k:,} times, and the table has {frequencies.rows:,} rows",
            hint=f"generalize by at most {frequencies.rows:,}",
        )
    recodings, class_ids = [], {}
    for place, names in enumerate(slices):
        known = [name for name in frequencies.names if name in names]
        if not known:
            continue
        projected, places = project(frequencies, known)
        columns = tuple(column for column in problem.columns if column.name in known)
        recoding = GENERALIZERS[generalizer].search(Problem(projected, columns, KAnonymity(k)))
        recodings.append(recoding)
        class_ids[place] = assign(projected, recoding).class_ids[places]
    return tuple(recodings), class_ids
