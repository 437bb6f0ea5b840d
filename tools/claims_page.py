"""The page of claims and verdicts, written from one run of every figure.

    indistinct reproduce all -o figures.html --json > figures.json
    python tools/claims_page.py figures.json docs/guides/claims.md

The run takes minutes and its times are of one machine, so the page is a record, and is written again by hand.
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

HEADINGS = ("source", "claim", "verdict", "our figures", "what differs", "`indistinct reproduce …`")
INTRODUCTION = """# What the sources claim, and what came of it

<!-- Written by `tools/claims_page.py` from a run of `indistinct reproduce all`. -->

Every claim of the sources that can be tested, with the verdict of one run on Adult and on generated tables. The last
column names the figure that tests it: `indistinct reproduce NAME` prints it again, with everything measured.

- **confirmed**: it holds in every setting that was tried; where a source says *often*, in most, and where it says *in
  some*, in one;
- **depends**: it holds in some settings and not in others, which are named or counted;
- **not confirmed**: it holds in none.

Times are CPU seconds of one machine. What differs from a source's own setting stands beside the verdict and, for whole
figures, in [published figures, made again](reproducing.md). Tables that sources print in full stand in
[worked examples](../reference/worked-examples.md)."""


def page_of(document: Mapping[str, Any]) -> str:
    """Return the page for the JSON document that `indistinct reproduce all --json` prints."""
    rows = [
        (claim["source"], claim["claim"], claim["verdict"], claim["figures"], claim["differs"], f"`{name}`")
        for name, figure in document["figures"].items()
        for claim in figure["claims"]
    ]
    counts = Counter(row[2] for row in rows)
    summary = ", ".join(f"{count} {verdict}" for verdict, count in counts.most_common())
    lines = [HEADINGS, ["---"] * len(HEADINGS), *sorted(rows, key=lambda row: row[0])]
    table = "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)
    return f"{INTRODUCTION}\n\n{len(rows)} claims: {summary}.\n\n{table}\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the page; return the exit code."""
    parser = argparse.ArgumentParser(prog="python tools/claims_page.py", description=__doc__.splitlines()[0])
    parser.add_argument("figures", type=Path)
    parser.add_argument("page", type=Path)
    given = parser.parse_args(arguments)
    given.page.write_text(page_of(json.loads(given.figures.read_text(encoding="utf-8"))), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
