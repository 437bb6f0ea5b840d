"""One column before and after, and how far all columns and pairs of them are from the original."""

from typing import Any

from indistinct.drawing.shares import draw_shares
from indistinct.job.policy import Policy
from indistinct.reporting.columns import shares_of
from indistinct.schema import Role, Schema
from indistinct.study.measure.distributions import draw_distributions
from indistinct.study.measure.measuring import distributions
from indistinct.study.measure.possible_values import encoded_original, possible_values
from indistinct.tables import open_table
from indistinct.web.tasks.published import published_files
from indistinct.web.worker import Desk

SPREAD = "a published label is spread evenly over the values that it covers"


def column_picture(desk: Desk, policy: Policy, files: dict[str, Any], column: str) -> str:
    """Return the shares of a column's values before and after, drawn as in the report."""
    given = published_files(desk, policy, files)
    role = policy.schema.role(column)
    # Classes are read by some quasi-identifier; all of them would take their time in a large table.
    quasi = [column] if role is Role.QUASI else policy.schema.quasi[:1]
    alone = Schema(quasi=quasi, insensitive=[] if role is Role.QUASI else [column])
    table = open_table(given.require_original("the picture of a column"))
    hierarchies = {name: each for name, each in given.used_hierarchies.items() if name in alone.columns}
    original = encoded_original(table.data, alone, hierarchies=hierarchies)
    domains = {name: each.domain for name, each in original.items()}
    schema = alone if given.buckets is None else policy.schema
    shown = possible_values(given.tables, schema, domains=domains, hierarchies=hierarchies)
    shares = shares_of(original, shown)[column]
    notes = [] if shares.exact else [SPREAD]
    return draw_shares(column, shares.labels, before=shares.before, after=shares.after, notes=notes)


def all_distances(desk: Desk, policy: Policy, files: dict[str, Any]) -> dict[str, Any]:
    """Return how far every column and every pair is from the original: a picture, and the figures of columns."""
    desk.enter("reading")
    given = published_files(desk, policy, files)
    desk.enter("comparing columns")
    found = distributions(given, progress=desk.report)
    picture = None
    if len(found.columns) > 1:
        picture = draw_distributions(found, title="How far the release is from the original")
    return {"picture": picture, **found.to_json()}
