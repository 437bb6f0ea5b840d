"""The chart of loss against time beside other tools, drawn from the table of figures in the guide to algorithms.

    python tools/peers_chart.py docs/pictures/peers.svg

The figures are typed in once, in docs/guides/which-algorithm.md: this reads them from there.
"""

import re
import sys
from pathlib import Path

from indistinct.drawing.charts import altair, draw

GUIDE = Path(__file__).parents[1] / "docs" / "guides" / "which-algorithm.md"
GROUPS = {"without hierarchies": "indistinct", "other tools, without hierarchies": "other tools"}
K_COLUMN = 2
"""The column of k = 5 in a row of the guide's table; the name comes first."""
K_INDEX = 1
"""Which of three times is that of k = 5, where they differ."""


def rows_of(text: str) -> list[dict[str, object]]:
    """Return name, tool, loss and seconds of each row of the table that was measured without hierarchies."""
    rows: list[dict[str, object]] = []
    group = None
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("| ") else []
        heading = re.fullmatch(r"\*\*(.+)\*\*", cells[0]) if cells else None
        if heading:
            group = GROUPS.get(heading[1])
        elif group and len(cells) == 5:
            times = cells[4].split(",")
            seconds = float(times[K_INDEX] if len(times) > 1 else times[0])
            name = cells[0].replace("`", "").replace(", as in the paper", "").replace(":rounds=30,seconds=0", "")
            rows.append({"name": name, "tool": group, "loss": 100 * float(cells[K_COLUMN]), "seconds": seconds})
    return rows


def main(target: Path) -> int:
    """Write the chart; return the exit code."""
    alt = altair()
    rows = rows_of(GUIDE.read_text(encoding="utf-8"))
    base = alt.Chart(alt.Data(values=rows), width=560, height=240).encode(
        x=alt.X("seconds:Q", title="seconds, logarithmic").scale(type="log", domain=[0.03, 600]),
        y=alt.Y("loss:Q", title="detail lost, % (global certainty penalty)").scale(domain=[0, 10]),
    )
    tools = alt.Scale(domain=list(GROUPS.values()))
    points = base.mark_point(size=80, filled=True, opacity=1).encode(
        shape=alt.Shape("tool:N", scale=tools), color=alt.Color("tool:N", scale=tools)
    )
    names = base.mark_text(align="left", dx=9, fontSize=11).encode(text="name:N")
    notes = ["Adult, 30,162 rows, eight quasi-identifiers, no hierarchies. Lower left is better."]
    target.write_text(draw(points + names, title="Loss and time at k = 5", notes=notes), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
