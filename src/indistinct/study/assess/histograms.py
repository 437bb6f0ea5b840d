"""Histograms about a release: by how many buckets, or classes, an algorithm's tuples are matched."""

from typing import TYPE_CHECKING

from indistinct.drawing.charts import COLOURS, GREY, altair, draw
from indistinct.figures import percent
from indistinct.study.assess.membership import Membership

if TYPE_CHECKING:
    import altair as alt

SHARES = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)


def draw_matching(
    membership: Membership, *, title: str, matched: tuple[str, str] = ("bucket", "buckets"), kind: str = ""
) -> str:
    """Return the histograms of matching buckets of original and of fake tuples side by side, as an SVG document.

    Where the two differ much, an attacker tells original tuples from fake ones. `matched` is what tuples match, one of
    them and many, and `kind` what tuples are made of.
    """
    notes = _notes(membership, matched, kind)
    return draw(matching_chart(membership, matched=matched[1]), title=title, notes=notes)


def matching_chart(membership: Membership, *, matched: str) -> "alt.LayerChart":
    """Return both histograms as bars, each with its share and its number of tuples above."""
    alt = altair()
    names = [_named(membership.originals, "original"), _named(membership.fake, "fake")]
    histograms = dict(zip(names, (membership.matching_original, membership.matching_fake), strict=True))
    bars = [
        {"matching": label, "tuples": name, "share": share, "text": f"{percent(share)}\n{_short(count)}"}
        for name, histogram in histograms.items()
        for whole in [sum(count for _, count in histogram)]
        for label, count in histogram
        for share in [count / whole if whole else 0.0]
    ]
    order = [label for label, _ in membership.matching_original]
    base = alt.Chart(alt.Data(values=bars)).encode(
        x=alt.X("matching:N", sort=order, title=f"matching {matched} of a tuple").scale(paddingInner=0.25),
        xOffset=alt.XOffset("tuples:N", sort=names).scale(paddingInner=0.08),
        y=alt.Y("share:Q", title="share of tuples").scale(domain=[0, 1.15]).axis(format="%", values=SHARES, grid=False),
    )
    colour = alt.Color("tuples:N", sort=names).scale(range=COLOURS[:2])
    texts = base.mark_text(baseline="line-bottom", dy=-15, lineBreak="\n", lineHeight=13, color=GREY)
    return (base.mark_bar().encode(color=colour) + texts.encode(text="text:N")).properties(width=480, height=220)


def _notes(membership: Membership, matched: tuple[str, str], kind: str) -> list[str]:
    one, many = matched
    candidates = f"{_short(membership.candidates)} candidates"
    if not membership.exact:
        low, high = (_short(end, digits=5) for end in membership.interval)
        candidates += f" ({low} to {high} with 95% confidence)"
    about = f"tuples of {kind}: " if kind else ""
    means = f"{many} of an original, mean: {membership.mean_matching_original:.3g}"
    if membership.fake:
        means += f", of a fake: {membership.mean_matching_fake:.3g}"
    return [f"{about}{candidates}", f"{means}; originals with one {one}: {_short(membership.unique_original)}"]


def _named(count: float, kind: str) -> str:
    return f"{_short(count)} {kind} tuple" + ("" if count == 1 else "s")


def _short(value: float, *, digits: int = 3) -> str:
    """Return a number as people read it: whole while it is small, then with a letter, then as a power of ten."""
    if value < 10_000:
        return f"{value:,.0f}"
    for size, letter in ((1e12, ""), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:.{digits}g}{letter}" if letter else f"{value:.{digits}g}"
    return f"{value:g}"
