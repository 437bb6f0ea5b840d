"""Histograms about a release, drawn as one SVG: by how many buckets, or classes, an algorithm's tuples are matched."""

from collections.abc import Sequence
from xml.sax.saxutils import escape

from indistinct.risks.membership import Membership

# Colours that people with any colour vision tell apart (Okabe and Ito 2008); stripes say the same again.
ORIGINAL, FAKE = "#0072B2", "#D55E00"
WIDTH, HEIGHT = 560, 392
LEFT, RIGHT, TOP, BOTTOM = 62, 20, 136, 52
BAR = 62
STRIPES = (
    '<defs><pattern id="stripes" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
    f'<rect width="6" height="6" fill="{FAKE}"/><line x1="1" x2="1" y2="6" stroke="#fff" stroke-width="1.6"/>'
    "</pattern></defs>"
)
FILLS = ((ORIGINAL, ORIGINAL), ("url(#stripes)", FAKE))  # inside and frame
Y_LABEL = "share of tuples"


def draw_matching(
    membership: Membership, *, title: str, matched: tuple[str, str] = ("bucket", "buckets"), kind: str = ""
) -> str:
    """Return the histograms of matching buckets of original and of fake tuples side by side, as an SVG document.

    Where the two differ much, an attacker tells original tuples from fake ones. `matched` is what tuples match, one of
    them and many, and `kind` what tuples are made of.
    """
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        'font-family="sans-serif" font-size="11" fill="#222">',
        f"<title>{escape(title)}</title>",
        STRIPES,
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
        f'<text x="16" y="28" font-size="17" font-weight="bold">{escape(title)}</text>',
        *(
            f'<text x="16" y="{48 + 16 * line}" fill="#555">{escape(text)}</text>'
            for line, text in enumerate(_notes(membership, matched, kind))
        ),
        *_legend([_named(membership.originals, "original"), _named(membership.fake, "fake")]),
        *_axes([label for label, _ in membership.matching_original], f"matching {matched[1]} of a tuple"),
    ]
    for place, histogram in enumerate((membership.matching_original, membership.matching_fake)):
        counts = [count for _, count in histogram]
        parts.append('<g class="histogram">')
        for group, count in enumerate(counts):
            middle = _middle(group, len(counts)) + (place - 0.5) * (BAR + 6)
            parts += _bar(middle, count, of=sum(counts), fills=FILLS[place])
        parts.append("</g>")
    return "\n".join([*parts, "</svg>", ""])


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


def _legend(names: Sequence[str]) -> list[str]:
    parts, x = [], 16.0
    for (fill, frame), name in zip(FILLS, names, strict=True):
        parts.append(f'<rect class="key" x="{x}" y="82" width="22" height="12" fill="{fill}" stroke="{frame}"/>')
        parts.append(f'<text x="{x + 29}" y="92">{escape(name)}</text>')
        x += 60 + 6.4 * len(name)
    return parts


def _axes(labels: Sequence[str], below: str) -> list[str]:
    floor, across = HEIGHT - BOTTOM, (LEFT + WIDTH - RIGHT) / 2
    parts = [
        f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{_up(share):.1f}" y2="{_up(share):.1f}" stroke="#ddd"/>'
        f'<text x="{LEFT - 6}" y="{_up(share) + 4:.1f}" text-anchor="end" fill="#555">{share:.0%}</text>'
        for share in (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
    ]
    parts += [
        f'<text x="{_middle(group, len(labels)):.1f}" y="{floor + 17}" text-anchor="middle">{escape(label)}</text>'
        for group, label in enumerate(labels)
    ]
    parts.append(f'<text x="{across}" y="{floor + 38}" text-anchor="middle" fill="#555">{escape(below)}</text>')
    parts.append(
        f'<text transform="translate(16 {_up(0.5):.1f}) rotate(-90)" text-anchor="middle" fill="#555">{Y_LABEL}</text>'
    )
    return parts


def _bar(middle: float, count: float, *, of: float, fills: tuple[str, str]) -> list[str]:
    """Return a bar with its share and its number of tuples above."""
    share = count / of if of else 0.0
    top = _up(share)
    told = f'<text x="{middle:.1f}" text-anchor="middle"'
    return [
        f'<rect class="bar" x="{middle - BAR / 2:.1f}" y="{top:.1f}" width="{BAR}" height="{_up(0.0) - top:.1f}" '
        f'fill="{fills[0]}" stroke="{fills[1]}"/>',
        f'{told} y="{top - 16:.1f}">{_percent(share)}</text>',
        f'{told} y="{top - 4:.1f}" fill="#555" font-size="10">{_short(count)}</text>',
    ]


def _percent(share: float) -> str:
    """Return a share such that few are not none, and almost all are not all."""
    if share in (0.0, 1.0):
        return f"{share:.0%}"
    if share < 0.001:
        return "under 0.1%"
    return "over 99.9%" if share > 0.999 else f"{share:.1%}"


def _middle(group: int, groups: int) -> float:
    return LEFT + (WIDTH - LEFT - RIGHT) * (group + 0.5) / groups


def _up(share: float) -> float:
    return HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)


def _short(value: float, *, digits: int = 3) -> str:
    """Return a number as people read it: whole while it is small, then with a letter, then as a power of ten."""
    if value < 10_000:
        return f"{value:,.0f}"
    for size, letter in ((1e12, ""), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:.{digits}g}{letter}" if letter else f"{value:.{digits}g}"
    return f"{value:g}"
