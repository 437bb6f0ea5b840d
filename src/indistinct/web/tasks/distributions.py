"""One column before and after, and how far all columns and pairs of them are from the original."""

from pathlib import Path
from typing import Any

from indistinct.drawing.heat_map import draw_distributions
from indistinct.drawing.shares import draw_shares
from indistinct.engines.base import PublishedFile
from indistinct.policy import Policy
from indistinct.recoding.outputs import SENSITIVE
from indistinct.release.distributions import compare_distributions
from indistinct.release.files import table_path
from indistinct.release.possible_values import encoded_original, possible_values
from indistinct.release.published import BucketTable, Published, buckets_told, open_published, read_certificate
from indistinct.reporting.columns import shares_of
from indistinct.schema import Role, Schema
from indistinct.tables import Table
from indistinct.web.tasks.exploring import published_table
from indistinct.web.worker import Desk

SPREAD = "a published label is spread evenly over the values that it covers"


def released(desk: Desk, policy: Policy, files: dict[str, Any]) -> tuple[Published, bool]:
    """Return the files of a release as they are read back, and whether they are in buckets; the last is kept."""
    path = Path(files["table"])
    stamp = (path.stat().st_mtime_ns, path.stat().st_size)
    found: tuple[Published, bool] = desk.keep(("released", path, stamp), lambda: _released(path, policy), most=1)
    return found


def _released(path: Path, policy: Policy) -> tuple[Published, bool]:
    buckets = buckets_told(read_certificate(path))
    if buckets is None:
        return open_published(path, policy.schema), False
    apart = PublishedFile(table_path(path, SENSITIVE)) if buckets.form == "tables" else None
    table = BucketTable(PublishedFile(path), buckets.slices, buckets.form, apart, buckets.generalized)
    return open_published(table, policy.schema), True


def column_picture(desk: Desk, policy: Policy, files: dict[str, Any], column: str) -> str:
    """Return the shares of a column's values before and after, drawn as in the report."""
    published, in_buckets = released(desk, policy, files)
    role = policy.schema.role(column)
    # Classes are read by some quasi-identifier; all of them would take their time in a large table.
    quasi = [column] if role is Role.QUASI else policy.schema.quasi[:1]
    alone = Schema(quasi=quasi, insensitive=[] if role is Role.QUASI else [column])
    table: Table = published_table(desk, policy)
    known = {name: each for name, each in policy.used_hierarchies.items() if name in alone.columns}
    original = encoded_original(table.data, alone, hierarchies=known)
    domains = {name: each.domain for name, each in original.items()}
    shown = possible_values(published, policy.schema if in_buckets else alone, domains=domains, hierarchies=known)
    shares = shares_of(original, shown)[column]
    notes = [] if shares.exact else [SPREAD]
    return draw_shares(column, shares.labels, before=shares.before, after=shares.after, notes=notes)


def all_distances(desk: Desk, policy: Policy, files: dict[str, Any]) -> dict[str, Any]:
    """Return how far every column and every pair is from the original: a picture, and the figures of columns."""
    desk.enter("reading")
    published, _ = released(desk, policy, files)
    table, known = published_table(desk, policy), policy.used_hierarchies
    original = encoded_original(table.data, policy.schema, hierarchies=known)
    desk.enter("comparing columns")
    domains = {name: each.domain for name, each in original.items()}
    shown = possible_values(published, policy.schema, domains=domains, hierarchies=known)
    found = compare_distributions(original, shown, progress=desk.report)
    picture = None
    if len(found.columns) > 1:
        picture = draw_distributions(found, title="How far the release is from the original")
    return {"picture": picture, **found.to_json()}
