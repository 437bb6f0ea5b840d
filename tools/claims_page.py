"""The page of claims and verdicts, written from the files of all figures.

    indistinct reproduce slicing -o figures/slicing.json
    python tools/claims_page.py docs/research/claims.md figures/*.json

Each file is named by its figure, and says which code made it and when. Figures take minutes and their times are of one
machine, so the page is a record, and is written again by hand.
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from indistinct_papers import REPRODUCTIONS
from indistinct_papers.base import Claim, claim_from_json, unite_sentences

HEADINGS = (
    *("source", "place", "claim", "verdict", "holds in", "source's setting", "our setting", "our figures"),
    *("what differs", "`indistinct reproduce …`"),
)
RULES = {"every": "", "often": ", *often*", "some": ", *some*"}
INTRODUCTION = """# What the sources claim, and what came of it

<!-- Written by `tools/claims_page.py` from the files of all figures. -->

One row for each sentence of a source that can be tested, with its place in the source and the verdict of figures made
on Adult and on generated tables. Places in Murthy and Srinivas, Sonawane and Rahinj, and Halwe and Verma are those of
documents that retell a paper. The last column names the figures that test the sentence: `indistinct reproduce NAME`
prints them again, with everything measured.

The verdict follows from *holds in*, the settings in which the sentence holds of those that were tried:

- **confirmed**: in every setting; where a source says *often*, in more than half, and where it says *in some*, in one;
- **depends**: in some settings and not in others, which are named or counted;
- **not confirmed**: in none.

Where an algorithm of a source can be read in two ways, settings are those of the reading as printed; the other reading
is next to it and does not count. A sentence with several parts holds in as many settings as its parts do together.
Times are CPU seconds of one machine. What differs for whole figures is in
[published figures, made again](reproducing.md); tables that sources print in full are in
[worked examples](../reference/worked-examples.md)."""
VARIANTS = """## Variants of our own

The same comparisons for variants that the sources do not have."""


def page_of(figures: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the page for figures by name, each the JSON document that `indistinct reproduce NAME` writes."""
    claims = [(name, claim_from_json(claim)) for name, figure in figures.items() for claim in figure["claims"]]
    united = sorted(unite_sentences(claims), key=lambda row: row[1].source)
    stated = [row for row in united if not row[1].own]
    own = [row for row in united if row[1].own]
    counts = Counter(claim.verdict for _, claim in stated)
    summary = ", ".join(f"{count} {verdict}" for verdict, count in counts.most_common())
    parts = [INTRODUCTION, _records(figures), f"{len(stated)} sentences: {summary}.", _table(stated)]
    return "\n\n".join([*parts, *([VARIANTS, _table(own)] if own else [])]) + "\n"


def _records(figures: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the sentences that say which code made which figures, and when."""
    by_code: dict[tuple[str, str | None], list[str]] = {}
    for name, figure in figures.items():
        record = figure["record"]
        by_code.setdefault((record["version"], record["code"]), []).append(name)
    made = []
    for (version, code), names in sorted(by_code.items(), key=lambda one: -len(one[1])):
        days = sorted({figures[name]["record"]["date"] for name in names})
        when = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
        which = "All figures" if set(names) == set(REPRODUCTIONS) else ", ".join(f"`{name}`" for name in names)
        by = f"code `{code}`" if code else "an earlier run whose code was not recorded"
        made.append(f"{which}: version {version}, {by}, {when}.")
    missing = [f"`{name}`" for name in REPRODUCTIONS if name not in figures]
    made += [f"Not run, so that what they test is not on this page: {', '.join(missing)}."] if missing else []
    return "\n\n".join(made)


def check_figures(figures: Mapping[str, Mapping[str, Any]]) -> None:
    """Raise `SystemExit` unless each file has a figure in all of its sizes."""
    unknown = [name for name in figures if name not in REPRODUCTIONS]
    partly = [
        name
        for name, figure in figures.items()
        if name not in unknown and tuple(figure["record"]["sizes"]) != REPRODUCTIONS[name].sizes
    ]
    if unknown or partly:
        raise SystemExit(f"no figure: {', '.join(unknown) or 'none'}; not in all sizes: {', '.join(partly) or 'none'}")


def _table(rows: Sequence[tuple[Sequence[str], Claim]]) -> str:
    lines = [HEADINGS, ["---"] * len(HEADINGS), *(_cells(names, claim) for names, claim in rows)]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)


def _cells(names: Sequence[str], claim: Claim) -> tuple[str, ...]:
    held = f"{claim.held} of {claim.tested}{RULES[claim.rule]}"
    about = (claim.source, claim.place, claim.text, claim.verdict, held, claim.setting, claim.ours, claim.figures)
    return (*about, claim.differs, ", ".join(f"`{name}`" for name in names))


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the page; return the exit code."""
    parser = argparse.ArgumentParser(prog="python tools/claims_page.py", description=__doc__.splitlines()[0])
    parser.add_argument("page", type=Path)
    parser.add_argument("figures", type=Path, nargs="+")
    given = parser.parse_args(arguments)
    figures = {each.stem: json.loads(each.read_text(encoding="utf-8")) for each in sorted(given.figures)}
    check_figures(figures)
    given.page.write_text(page_of(figures), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
