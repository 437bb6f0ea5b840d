"""The sections about utility: suppression, loss, distributions, queries and classifiers."""

from collections.abc import Iterator

from indistinct.document.blocks import Block, JsonValues, Notice, Paragraph, Picture, Section, grid
from indistinct.drawing.shares import draw_shares
from indistinct.evaluation.measure.distributions import distance_grid, draw_distributions
from indistinct.evaluation.measure.learning.scores import classifier_blocks
from indistinct.evaluation.query.workload import draw_errors, error_grids
from indistinct.figures import number, percent, short
from indistinct.metrics import metric_grid
from indistinct.reporting.facts import Facts

MAX_PICTURES = 12
"""Upper limit of the columns with pictures; all are in the table of distances."""
SPREAD = "Where a label covers several values it is spread evenly over them."
DISTANCES = (
    "All of these are 0 where a column is as it was. Total variation is the largest error of the share of any set of "
    "values, and Hellinger a similar distance, both from 0 to 1. Kullback-Leibler is what a code made for the release "
    "would waste on the original, in bits for each value. Wasserstein says how far values moved on average, in the "
    "column's own unit, and as a part of its span."
)


def suppression(facts: Facts, *, internal: bool) -> Section:
    """Return what is suppressed, by column and by subgroup."""
    certificate, suppressed = facts.json("certificate"), facts.json("suppression")
    blocks: list[Block] = []
    if certificate is None or certificate.at("suppressed_rows") is None:
        hidden = certificate is not None and "suppressed_rows" in (certificate.at("hidden") or ())
        why = "How many rows were suppressed is hidden." if hidden else "Without the original it is not known how many "
        blocks.append(Notice(why if hidden else why + "rows were suppressed."))
    else:
        blocks.append(_dropped(certificate))
    starred = (suppressed and suppressed.at("starred")) or {}
    if starred and not any(starred.values()):
        blocks.append(Paragraph("No cell of a quasi-identifier is published as *."))
    elif suppressed is not None and starred:
        cells = [(name, suppressed.figure("starred", name)) for name in starred]
        blocks.append(grid("Cells published as *", ("column", "cells"), cells, right=("cells",)))
    if internal and suppressed is not None:
        blocks += _subgroups(suppressed)
    return Section("suppression", "Suppression", tuple(blocks))


def _dropped(certificate: JsonValues) -> Block:
    """Return how many rows of the original are not published."""
    if certificate.at("suppressed_rows") == 0:
        return Paragraph("No row was suppressed: every row of the original is published.")
    rows = (
        ("rows of the original", certificate.figure("original_rows", absent="hidden")),
        ("suppressed rows", certificate.figure("suppressed_rows")),
    )
    return grid("Suppressed rows", ("counted", "number"), rows, right=("number",))


def _subgroups(values: JsonValues) -> list[Block]:
    """Return the tables of subgroups with suppressed rows."""
    blocks: list[Block] = []
    for name, lines in (values.at("subgroups") or {}).items():
        if not any(line["suppressed"] for line in lines):
            continue
        rows = []
        for index, line in enumerate(lines):
            path = ("subgroups", name, index)
            share = values.figure(*path, "share", words=percent)
            rows.append((line["value"], values.figure(*path, "rows"), values.figure(*path, "suppressed"), share))
        headings = ("value", "rows before", "suppressed", "share")
        blocks.append(grid(f"Suppressed rows by {name}", headings, rows, right=headings[1:]))
    if not blocks:
        known = bool(values.at("subgroups"))
        words = (
            "No subgroup that was counted lost a row." if known else "Subgroups were not counted: give the original."
        )
        blocks.append(Paragraph(words) if known else Notice(words))
    return blocks


def utility(facts: Facts, *, internal: bool) -> Section:
    """Return the loss of the release and its remaining utility."""
    blocks: list[Block] = [*_metrics(facts, internal=internal), *_distributions(facts)]
    blocks += [*_queries(facts), *_classifier(facts)]
    return Section("utility", "What the release is still good for", tuple(_once(blocks)))


def _once(blocks: list[Block]) -> Iterator[Block]:
    """Yield blocks, with notes on missing contents only once for the same reason."""
    notes: list[Block] = []
    for block in blocks:
        if block not in notes:
            yield block
        notes.append(block)


def _metrics(facts: Facts, *, internal: bool) -> list[Block]:
    """Return the table of metrics."""
    metrics = facts.json("measure")
    if metrics is None:
        return [Notice(facts.why_not("measure"))]
    caption = "Metrics" if internal else "Metrics, rounded to whole percent"
    return [metric_grid(metrics, "metrics", caption=caption)]


def _distributions(facts: Facts) -> list[Block]:
    """Return the distances of columns and pairs from the original."""
    distances = facts.json("distributions")
    if distances is None:
        return [Notice(facts.why_not("distributions"))]
    blocks: list[Block] = [Paragraph(DISTANCES), distance_grid(distances)]
    if facts.distributions is not None and len(facts.distributions.columns) > 1:
        title = "Pairs of columns before and after"
        words = f"{title}: total variation on the left, Cramér's V of the original and the release on the right. "
        svg = draw_distributions(facts.distributions, title=title)
        blocks.append(Picture(title, words + _farthest(distances), svg))
    for name, each in list(facts.shares.items())[:MAX_PICTURES]:
        svg = draw_shares(
            name,
            each.labels,
            before=each.before,
            after=each.after,
            edges=each.edges,
            dates=each.dates,
            joined=each.joined,
        )
        far = max(abs(b - a) for b, a in zip(each.before, each.after, strict=True))
        title = f"Distribution of {name} before and after"
        words = f"{title}: {number(len(each.labels))} groups of values; the largest difference is {percent(far)}."
        blocks.append(Picture(title, words if each.exact else f"{words} {SPREAD}", svg, half=True))
    return blocks


def _farthest(values: JsonValues) -> str:
    pairs = sorted(values.at("pairs"), key=lambda pair: -pair["total_variation"])[:1]
    return "".join(
        f"The farthest pair is {' with '.join(pair['columns'])}, {percent(pair['total_variation'])}." for pair in pairs
    )


def _queries(facts: Facts) -> list[Block]:
    """Return the errors of a workload of queries."""
    answers = facts.json("query")
    if answers is None:
        return [Notice(facts.why_not("query"))]
    blocks: list[Block] = [*error_grids(answers)]
    if facts.errors is not None:
        words = f"Running share of queries by relative error; mean {short(answers.at('relative', 'mean') or 0)}"
        blocks.append(Picture("How far the answers are off", words, draw_errors(facts.errors)))
    return blocks


def _classifier(facts: Facts) -> list[Block]:
    scores = facts.json("classify")
    if scores is None:
        return [Notice(facts.why_not("classify"))]
    return classifier_blocks(scores)
