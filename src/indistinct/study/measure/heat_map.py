"""Heat maps about a release: how far pairs of columns are from the original, and how they depend on each other."""

from typing import TYPE_CHECKING, Any

from indistinct.drawing.charts import altair, draw
from indistinct.study.measure.distributions import Distributions

if TYPE_CHECKING:
    import altair as alt

# So large is a square; columns of a table in which many stand get smaller ones.
LARGEST, SMALLEST, WIDTH = 44, 20, 420


def draw_distributions(found: Distributions, *, title: str) -> str:
    """Return two heat maps as an SVG document: distances, and dependence before and after.

    On the left stands total variation, of single columns on the diagonal. On the right stands Cramér's V: of the
    original below the diagonal, of the release above.
    """
    chart = altair().hconcat(
        _map(found, _distances(found), heading="total variation"),
        _map(found, _dependence(found), heading="Cramér's V: original below, release above"),
        spacing=40,
    )
    notes = [f"{found.published_rows:,} of {found.rows:,} rows are published; the diagonal is one column alone"]
    return draw(chart.resolve_scale(color="independent"), title=title, notes=notes)


def _distances(found: Distributions) -> list[dict[str, Any]]:
    cells = [_cell(each.column, each.column, each.total_variation) for each in found.columns]
    for pair in found.pairs:
        one, other = pair.columns
        cells += [_cell(one, other, pair.total_variation), _cell(other, one, pair.total_variation)]
    return cells


def _dependence(found: Distributions) -> list[dict[str, Any]]:
    cells = []
    for pair in found.pairs:
        (one, other), (before, after) = pair.columns, pair.cramers_v
        cells += [_cell(one, other, before), _cell(other, one, after)]
    return cells


def _cell(column: str, row: str, value: float | None) -> dict[str, Any]:
    shown = value or 0.0
    return {"column": column, "row": row, "value": shown, "text": f"{100 * shown:.0f}"}


def _map(found: Distributions, cells: list[dict[str, Any]], *, heading: str) -> "alt.LayerChart":
    alt = altair()
    names = [each.column for each in found.columns]
    side = min(LARGEST, max(SMALLEST, WIDTH // max(len(names), 1)))
    base = alt.Chart(alt.Data(values=cells), width=side * len(names), height=side * len(names)).encode(
        x=alt.X("column:N", sort=names, title=None).axis(labelAngle=-45, labelLimit=120).scale(domain=names),
        y=alt.Y("row:N", sort=names, title=None).axis(labelLimit=120).scale(domain=names),
    )
    colour = alt.Color("value:Q").scale(domain=[0, 1], scheme="blues").legend(None)
    texts = alt.condition("datum.value > 0.55", alt.value("white"), alt.value("#333"))
    layers = base.mark_rect().encode(color=colour) + base.mark_text(fontSize=10).encode(text="text:N", color=texts)
    return layers.properties(title=alt.TitleParams(f"{heading}, in hundredths", fontSize=12))
