"""A lattice of recodings as a picture: a Hasse diagram in SVG that says which nodes satisfy the model.

States differ by colours for every colour vision, and by shade, frame and weight in black and white. The picture has no
script and fetches nothing.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Literal

from indistinct.document.html import printable
from indistinct.errors import ParameterError
from indistinct.frequencies.lattice import Lattice, Node

State = Literal["outside", "satisfying", "minimal"]
# What each level of a column publishes, in words, by column.
Axes = Mapping[str, Sequence[str]]

# More nodes than these do not fit a page.
PICTURE_LIMIT = 400
# A lattice of more nodes than these is drawn small: without figures, and with edges of satisfying nodes alone.
FULL_LIMIT = 150
# A layer with more nodes than these is laid in two rows, like bricks.
ROW_LIMIT = 14
MARGIN, BAND, AXIS = 24.0, 30.0, 70.0
FULL_HEIGHT, SMALL_HEIGHT = 47.0, 24.0
FIGURE_WIDTH, TEXT_WIDTH, NODE_WIDTH = 6.1, 6.7, 8.0  # a character's, on the safe side
WORDS: dict[State, str] = {
    "outside": "does not satisfy the model",
    "satisfying": "satisfies it",
    "minimal": "satisfies it, and nothing below does",
}
INTRODUCTION = "A node gives the level of each column, in this order; in brackets, how many values it then has."
SMALL_WORDS = "lines join nodes that satisfy it; the figures of a node show where a pointer rests"
STYLE = """
text { font: 12px Helvetica, Arial, 'DejaVu Sans', sans-serif; fill: #222 }
.heading { font-size: 15px; font-weight: bold }
.axis { fill: #666; font-size: 11px }
.strong { font-weight: bold }
.edge { fill: none; stroke: #c4c4c4; stroke-width: 0.8 }
.inside { stroke: #56a0d3; stroke-width: 1.1 }
.node { font: bold 13px 'DejaVu Sans Mono', Menlo, Consolas, monospace; text-anchor: middle }
.figure { font-size: 10px; text-anchor: middle }
rect { stroke-width: 1.2 }
.outside rect { fill: #fff; stroke: #8a8a8a; stroke-dasharray: 4 3 }
.outside text { fill: #666 }
.satisfying rect { fill: #d3e8f7; stroke: #0072b2 }
.minimal rect { fill: #0072b2; stroke: #00354f }
.minimal text { fill: #fff }
.chosen rect { stroke: #d55e00; stroke-width: 4; stroke-dasharray: none }
.star { fill: #d55e00; stroke: #fff; stroke-width: 1 }
""".strip()


@dataclass(frozen=True, slots=True)
class Box:
    """A node of the picture: its levels, two short figures below them, and a title that a pointer shows."""

    levels: Node
    state: State
    figures: tuple[str, str]
    title: str
    chosen: bool = False


def draw_lattice(
    axes: Axes, boxes: Sequence[Box], *, heading: str, figures: tuple[str, str], mark: str = "chosen"
) -> str:
    """Return the picture of a lattice; `figures` says what the two figures in each box are, `mark` what a star means.

    Raises `ParameterError` for more nodes than a page can show.
    """
    if len(boxes) > PICTURE_LIMIT:
        raise ParameterError(
            f"the lattice has {len(boxes):,} nodes; a picture of more than {PICTURE_LIMIT} cannot be read",
            hint="list the nodes instead, or give hierarchies fewer levels",
        )
    small = len(boxes) > FULL_LIMIT
    page = _Page(axes, boxes, small=small)
    table, table_width, table_height = _level_table(axes)
    legend, legend_width = _legend(
        None if small else figures, page.box_width, mark=mark if any(box.chosen for box in boxes) else ""
    )
    width = 2 * MARGIN + max(page.width, table_width, legend_width, TEXT_WIDTH * 1.3 * len(heading))
    top = MARGIN + 3 * BAND + 24
    foot = top + page.height + BAND
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {foot + table_height + MARGIN:.0f}" '
        f'width="{width:.0f}" height="{foot + table_height + MARGIN:.0f}" role="img">',
        f"<title>Lattice of {len(boxes)} nodes: {_clean(heading)}</title>",
        f"<style>{STYLE}</style>",
        '<rect width="100%" height="100%" style="fill: #fff; stroke: none"/>',
        _text(MARGIN, MARGIN + 10, heading, kind="heading"),
        _group(MARGIN, MARGIN + BAND, legend),
        _group(MARGIN + (width - 2 * MARGIN - page.width) / 2, top, [*page.edges(), *page.drawn()]),
        _group(MARGIN, foot, table),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


class _Page:
    """The position of every node: layers by height, the most general node at the top."""

    def __init__(self, axes: Axes, boxes: Sequence[Box], *, small: bool) -> None:
        self.small, self.box_height = small, SMALL_HEIGHT if small else FULL_HEIGHT
        self.lattice = Lattice(tuple(len(meanings) - 1 for meanings in axes.values()))
        self.boxes = {box.levels: box for box in boxes}
        longest = 0 if small else max(len(figure) for box in boxes for figure in box.figures)
        self.box_width = max(NODE_WIDTH * (2 * len(axes) - 1), FIGURE_WIDTH * longest) + (8 if small else 16)
        layers: list[list[Node]] = [[] for _ in range(sum(self.lattice.heights) + 1)]
        for levels in sorted(self.boxes, reverse=True):
            layers[sum(levels)].append(levels)
        # Layers without a line can be packed like text; others take one row, or two like bricks.
        linked = [not small or any(self.boxes[levels].state != "outside" for levels in layer) for layer in layers]
        widest = max(
            _per_row(layer) if line else min(len(layer), ROW_LIMIT) for layer, line in zip(layers, linked, strict=True)
        )
        self.pitch, self.widest = self.box_width + (10 if small else 14), max(widest, 1)
        self.width = AXIS + self.widest * self.pitch
        self.middle: dict[Node, float] = {}  # the centre of a box, across
        self.top: dict[Node, float] = {}
        self.span: list[tuple[float, float]] = [(0.0, 0.0)] * len(layers)  # top and bottom of a layer
        down = 0.0
        for height in range(len(layers) - 1, -1, -1):
            bottom = self._place(layers[height], down, linked=linked[height])
            self.span[height] = (down, bottom)
            down = bottom + (34 + 3.0 * widest if height and linked[height - 1] else 20)
        self.height = bottom

    def _place(self, layer: list[Node], down: float, *, linked: bool) -> float:
        """Lay a layer from a line on downward; return where it ends."""
        rows = math.ceil(len(layer) / (ROW_LIMIT if linked else self.widest))
        rows = min(rows, 2) if linked else rows
        for index, levels in enumerate(layer):
            # Neighbours are in different rows, half a box apart.
            row, across = (index % rows, index / rows) if linked else (index % rows, index // rows)
            last = (len(layer) - 1) / rows if linked else (len(layer) - 1 - row) // rows
            self.middle[levels] = AXIS + (self.width - AXIS) / 2 + (across - last / 2) * self.pitch
            self.top[levels] = down + row * (self.box_height + 10)
        return down + rows * self.box_height + (rows - 1) * 10

    def edges(self) -> Iterator[str]:
        """Yield the lines from each node to its direct generalizations; they leave a layer between its boxes."""
        for levels in self.boxes:
            for above in self.lattice.above(levels):
                inside = "outside" not in (self.boxes[levels].state, self.boxes[above].state)
                if self.small and not inside:
                    continue
                start, end = self.middle[levels], self.middle[above]
                points = [
                    (start, self.top[levels]),
                    (start, self.span[sum(levels)][0]),
                    (end, self.span[sum(above)][1]),
                    (end, self.top[above] + self.box_height),
                ]
                path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
                yield f'<polyline class="edge{" inside" if inside else ""}" points="{path}"/>'

    def drawn(self) -> Iterator[str]:
        """Yield the heights along the side, and the boxes."""
        for height, (top, bottom) in enumerate(self.span):
            yield _text(0, (top + bottom) / 2 + 4, f"height {height}", kind="axis")
        yield _text(0, self.span[0][1] + 12, "raw", kind="axis")
        yield _text(0, self.span[-1][0] - 6, "most general", kind="axis")
        for levels, box in self.boxes.items():
            left = self.middle[levels] - self.box_width / 2
            yield _box(box, left, self.top[levels], width=self.box_width, small=self.small)


def _per_row(layer: list[Node]) -> float:
    """Return how many boxes wide a layer is."""
    return len(layer) if len(layer) <= ROW_LIMIT else (len(layer) + 1) / 2


def _box(box: Box, left: float, top: float, *, width: float, small: bool, words: str = "") -> str:
    """Return the box of a node as SVG."""
    middle, height = width / 2, SMALL_HEIGHT if small else FULL_HEIGHT
    inner = [
        f"<title>{_clean(box.title)}</title>",
        f'<rect width="{width:.1f}" height="{height:.0f}" rx="6"/>',
        _text(middle, 17, words or ",".join(map(str, box.levels)), kind="node"),
    ]
    if not small:
        inner += [_text(middle, 30 + 12 * line, figure, kind="figure") for line, figure in enumerate(box.figures)]
    if box.chosen:
        transform = f"translate({width + 3:.1f} -4) scale(0.7)" if small else f"translate({width:.1f} 0)"
        inner.append(f'<path class="star" transform="{transform}" d="{STAR}"/>')
    kind = f"{box.state} chosen" if box.chosen else box.state
    return _group(left, top, inner, kind=kind)


STAR = "M0,-11 L2.8,-3.6 L10.5,-3.4 L4.4,1.3 L6.5,8.9 L0,4.5 L-6.5,8.9 L-4.4,1.3 L-10.5,-3.4 L-2.8,-3.6 Z"


def _legend(figures: tuple[str, str] | None, box_width: float, *, mark: str) -> tuple[list[str], float]:
    """Return the key to boxes and colours, and how wide it is."""
    small, named = figures is None, figures or ("", "")
    width = max(box_width, FIGURE_WIDTH * max(map(len, named)) + 16, NODE_WIDTH * len("levels") + 16)
    sample = Box((), "satisfying", named, "what is in a box")
    parts = [_box(sample, 0, 14 if small else 2, width=width, small=small, words="levels")]
    left = width + 24
    for state, words in WORDS.items():
        parts.append(_swatch(left, state))
        parts.append(_text(left + 36, 30, words))
        left += 36 + TEXT_WIDTH * len(words) + 18
    if mark:
        star = f'<path class="star" transform="translate(28 0)" d="{STAR}"/>'
        parts.append(_swatch(left, "satisfying chosen", star))
        parts.append(_text(left + 48, 30, mark))
        left += 48 + TEXT_WIDTH * len(mark) + 18
    if small:
        parts.append(_text(left, 30, SMALL_WORDS))
        left += TEXT_WIDTH * len(SMALL_WORDS) + 18
    return parts, left


def _swatch(left: float, kind: str, more: str = "") -> str:
    """Return a sample of a box for the legend."""
    return _group(left, 17, [f'<rect width="28" height="18" rx="4"/>{more}'], kind=kind)


def _level_table(axes: Axes) -> tuple[list[str], float, float]:
    """Return a table of what levels mean, a column for each quasi-identifier, with its width and height."""
    tallest = max(map(len, axes.values()))
    first, step = 34.0, 18.0
    parts = [_text(0, 12, INTRODUCTION), _text(0, first, "level", kind="strong")]
    parts += [_text(8, first + (level + 1) * step, str(level)) for level in range(tallest)]
    left = 54.0
    for column, meanings in axes.items():
        parts.append(_text(left, first, column, kind="strong"))
        parts += [_text(left, first + (level + 1) * step, meaning) for level, meaning in enumerate(meanings)]
        left += TEXT_WIDTH * max(map(len, (column, *meanings))) + 22
    return parts, max(left, TEXT_WIDTH * len(INTRODUCTION)), first + tallest * step + 6


def _group(left: float, top: float, parts: Sequence[str], *, kind: str = "") -> str:
    """Return SVG elements moved to a position."""
    named = f' class="{kind}"' if kind else ""
    return f'<g{named} transform="translate({left:.1f} {top:.1f})">' + "\n".join(parts) + "</g>"


def _text(left: float, top: float, text: str, *, kind: str = "") -> str:
    named = f' class="{kind}"' if kind else ""
    return f'<text{named} x="{left:.1f}" y="{top:.1f}">{_clean(text)}</text>'


def _clean(text: str) -> str:
    """Return text that XML can hold, with what it means otherwise escaped."""
    return escape(printable(text))
