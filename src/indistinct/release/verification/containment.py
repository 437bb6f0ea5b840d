"""Whether a table can be the original of a release in buckets, which shows values as they were."""

from collections.abc import Sequence

import numpy as np

from indistinct.errors import OriginalError
from indistinct.frequencies.count import Counted
from indistinct.frequencies.slices import SliceCounts, together
from indistinct.machine.arrays import Codes
from indistinct.release.verification.bucket_evidence import BucketEvidence


def require_in_original(evidence: BucketEvidence, original: Counted) -> None:
    """Raise unless the original has every published value as often: quasi-identifiers of a slice are taken together.

    Columns that were not counted on the original, and generalized ones, are not looked at.
    """
    cells = original.frequencies
    for each in evidence.slices:
        shown = [name for name in each.names if name not in evidence.buckets.generalized]
        quasi = [name for name in shown if name in cells.names]
        if quasi:
            columns = [cells.vectors[:, cells.names.index(name)] for name in quasi]
            _require(evidence, original, each, quasi, whole=(columns, cells.counts))
        for name in shown:
            if (name,) in cells.classes.histograms:
                often = cells.classes.histograms[(name,)].reference
                _require(evidence, original, each, [name], whole=([np.arange(len(often))], often))


def _require(
    evidence: BucketEvidence,
    original: Counted,
    each: SliceCounts,
    names: Sequence[str],
    *,
    whole: tuple[Sequence[Codes], Codes],
) -> None:
    """Raise unless each vector of some columns of a slice is there no more often than in the `whole` original."""
    columns, often = whole
    mine = [evidence.known[name].translate(original.known[name], empty=True)[each.codes[name]] for name in names]
    shown, theirs = together([codes + 1 for codes in mine], [codes + 1 for codes in columns], rows=0)
    if theirs is None:
        raise AssertionError("both sides were given")
    size = int(max(shown.max(initial=0), theirs.max(initial=0))) + 2
    there = np.bincount(theirs[theirs >= 0], weights=often[theirs >= 0], minlength=size)
    surplus = int(np.maximum(np.bincount(shown, weights=each.counts, minlength=size) - there, 0).sum())
    if surplus:
        raise OriginalError(
            f"the original does not contain the release: {surplus:,} published row(s) have values of "
            f"{', '.join(map(repr, names))} that it does not have, or not so often",
            hint="give the table that the release was made from, with the roles that it had",
        )
