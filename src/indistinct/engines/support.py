"""Which engine publishes which kinds of recodings, as each of them declares it: asked before a search begins."""

from collections.abc import Collection, Mapping

from indistinct.engines import engines
from indistinct.engines.base import Engine
from indistinct.errors import ParameterError

ENGINES: Mapping[str, Engine] = {engine.name: engine for engine in engines()}
"""Every engine by name; the support matrix, `indistinct list` and refusals are made of this."""

MEANINGS = {
    "by-column": "each column on its own: levels, cuts, subtrees",
    "by-region": "regions of vectors",
    "by-cell": "listed vectors",
    "by-row": "rows with equal values that part",
    "by-bucket": "buckets in which links are broken",
}
"""What kinds of recodings say, in few words."""


def check_support(engine: Engine, recodings: Collection[str]) -> None:
    """Raise `ParameterError` unless an engine publishes recodings of every kind that a search may find."""
    missing = [kind for kind in MEANINGS if kind in recodings and kind not in engine.supports]
    if not missing:
        return
    able = [name for name, kind in ENGINES.items() if kind.supports.issuperset(recodings)]
    raise ParameterError(
        f"the engine {engine.name} cannot publish {' or '.join(MEANINGS[kind] for kind in missing)}",
        hint=f"use the engine {' or '.join(able)}, or an algorithm of another kind; see the support matrix",
    )
