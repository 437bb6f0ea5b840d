"""What cuts look like: single- and multidimensional partitioning of a plane (LeFevre et al. 2006)."""

from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from indistinct.algorithms.base import Progress
from indistinct.drawing.charts import COLOURS, GREY, altair, draw
from indistinct.samples import generate_normal
from indistinct_papers.base import Cell, Reproduction
from indistinct_papers.mondrian_synthetic import NODES, OPTIMUM
from indistinct_papers.partitions import Boxes, Partition, partition

if TYPE_CHECKING:
    import altair as alt

ROWS, CARDINALITY, SEED = 1_000, 50, 1
MULTI = "multidimensional (mondrian)"
ALGORITHMS = {
    "single-dimensional, optimal": OPTIMUM,
    "single-dimensional, greedy": "single-dimensional",
    MULTI: "mondrian",
}
HEADINGS = ("k", "partitioning", "classes", "smallest class", "largest class", "discernibility", "proven")
TITLE = "Cuts in the plane"
DATA = f"{ROWS:,} rows, two attributes of {CARDINALITY} values, discrete normal around 25, sigma = 0.2"
SIZE = 200


def reproduce_mondrian_cuts(sizes: tuple[int, ...], progress: Progress) -> Reproduction:
    """Partition one table with each k in both ways, and draw the regions."""
    table = generate_normal(ROWS, seed=SEED, columns=2, cardinality=CARDINALITY)
    partitions: dict[tuple[int, str], Partition] = {}
    for index, k in enumerate(sizes):
        for name, algorithm in ALGORITHMS.items():
            partitions[k, name] = partition(table, algorithm, k=k, cardinality=CARDINALITY)
        progress((index + 1) / len(sizes))
    rows = tuple(_row(k, name, made) for (k, name), made in partitions.items())
    found = {setting: made.region for setting, made in partitions.items()}
    return Reproduction(
        title=TITLE,
        source="K. LeFevre, D. DeWitt, R. Ramakrishnan (2006). Mondrian multidimensional k-anonymity. ICDE.",
        data=DATA,
        headings=HEADINGS,
        rows=rows,
        findings=tuple(_finding(k, found) for k in sizes),
        facts={},
        picture=partial(_picture, table, found),
        differs=(
            "another random table than the paper's",
            f"the paper's single-dimensional cuts are an exhaustive optimum; ours are searched with at most {NODES:,} "
            "nodes, and `proven` says whether they are one",
        ),
    )


def _row(k: int, name: str, made: Partition) -> tuple[Cell, ...]:
    sizes, proven = made.region.sizes, {True: "yes", False: "no", None: None}[made.proven]
    return (k, name, len(sizes), int(sizes.min()), int(sizes.max()), int(sizes @ sizes), proven)


def _finding(k: int, found: dict[tuple[int, str], Boxes]) -> str:
    counts = {name: len(found[k, name].sizes) for name in ALGORITHMS}
    others = " and ".join(f"{count} ({name})" for name, count in counts.items() if name != MULTI)
    return f"k = {k}: {counts[MULTI]} regions instead of {others}"


def _picture(table: pa.Table, found: dict[tuple[int, str], Boxes]) -> str:
    """Return a square for every k and kind of partitioning: rows as dots, and the regions of their classes."""
    alt = altair()
    counted = table.group_by(["x1", "x2"]).aggregate([([], "count_all")]).to_pylist()
    dots = [{"x": row["x1"] + 0.5, "y": row["x2"] + 0.5, "rows": row["count_all"]} for row in counted]
    lines = [
        alt.hconcat(*(_square(dots, found[k, name], f"{name}, k = {k}") for k in dict.fromkeys(k for k, _ in found)))
        for name in ALGORITHMS
    ]
    notes = [f"{DATA}; a dot is a pair of values, larger where more rows have it;", "a box is the region of a class"]
    return draw(alt.vconcat(*lines), title=TITLE, notes=notes)


def _square(dots: list[dict[str, Any]], boxes: Boxes, title: str) -> "alt.LayerChart":
    alt = altair()
    corners = [
        {"x": int(low[0]), "y": int(low[1]), "x2": int(high[0]) + 1, "y2": int(high[1]) + 1}
        for low, high in zip(boxes.low, boxes.high, strict=True)
    ]
    axis: dict[str, Any] = {"grid": False, "values": list(range(0, CARDINALITY + 1, 10))}
    x = alt.X("x:Q", title="X").scale(domain=[0, CARDINALITY], nice=False).axis(**axis)
    y = alt.Y("y:Q", title="Y").scale(domain=[0, CARDINALITY], nice=False).axis(**axis)
    regions = alt.Chart(alt.Data(values=corners)).mark_rect(
        fill=COLOURS[0], fillOpacity=0.08, stroke=COLOURS[0], strokeWidth=1.1
    )
    rows = alt.Chart(alt.Data(values=dots)).mark_circle(color=GREY, opacity=0.65)
    size = alt.Size("rows:Q", legend=None).scale(domain=[1, max(dot["rows"] for dot in dots)], range=[5, 26])
    layers = regions.encode(x=x, y=y, x2="x2:Q", y2="y2:Q") + rows.encode(x=x, y=y, size=size)
    return layers.properties(
        width=SIZE, height=SIZE, title=alt.TitleParams(title, fontSize=12, anchor="middle", offset=4)
    )
