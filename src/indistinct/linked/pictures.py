"""Pictures of several tables: people below k by the number of known rows."""

from indistinct.drawing.charts import draw
from indistinct.drawing.lines import line_charts
from indistinct.linked.assess import LinkedAssessment

WITH_COLUMNS, ROWS_ALONE = "who knows columns of the person, and rows", "who knows rows alone"
"""What attackers know in each of the two charts."""


def draw_known_rows(assessment: LinkedAssessment) -> str:
    """Return an SVG: a chart for attackers with and without people columns, a line a table."""
    measure = "share of people"
    rows = [
        {
            "known rows": risk.known,
            "attackers": WITH_COLUMNS if risk.people_columns else ROWS_ALONE,
            "table": risk.table,
            measure: risk.share,
        }
        for risk in assessment.risks
        if risk.share is not None and risk.known != "all"
    ]
    charts = line_charts(
        rows,
        x=("known rows", "known rows"),
        across="attackers",
        lines="table",
        measures={measure: "share"},
        stacked=True,
    )
    title = f"People among fewer than {assessment.k}"
    return draw(
        charts, title=title, notes=[f"{assessment.people:,} people"], legend=[str(row["table"]) for row in rows]
    )
