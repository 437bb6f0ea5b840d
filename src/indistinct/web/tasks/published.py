"""The files of a release with what their policy says, archives of them, and how far columns are from the original."""

import json
import shutil
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from indistinct.drawing.shares import draw_shares
from indistinct.evaluation.measure.distributions import draw_distributions
from indistinct.evaluation.measure.measure import distributions
from indistinct.job.policy import Policy
from indistinct.job.published import published
from indistinct.release.published import Published
from indistinct.release.views import encoded_original, view_of
from indistinct.reporting.columns import shares_of
from indistinct.schema import Role, Schema
from indistinct.tables import Table, open_table
from indistinct.web.tasks.tables import stamp_of, table_of
from indistinct.web.worker import Desk

Files = Mapping[str, Any]
"""Where the files of a release lie: `table`, `certificate`, `recoding`, and a list of `others`."""
SPREAD = "a published label is spread evenly over the values that it covers"
MUST_NOT_HAPPEN = "search again; if it stays so, please tell us: this must not happen"
ALL, PACKAGE = "everything", "package"
"""The two archives: one with everything for the steward, and one with what recipients may have."""
# The first moment that an archive can name: the same files make the same archive.
EPOCH = (1980, 1, 1, 0, 0, 0)


def published_files(desk: Desk, policy: Policy, files: Files) -> Published:
    """Return a release and its original, as described by its policy and its recoding; the last one is cached."""
    path, reading = Path(files["table"]), policy.input.reading
    stamps = (stamp_of(path, reading), stamp_of(Path(files["recoding"]), reading), stamp_of(policy.source, reading))
    given: Published = desk.keep(
        ("published", *stamps, repr(policy)),
        lambda: published(path, policy=policy, original=original_of(desk, policy), recoding=files["recoding"]),
        most=1,
    )
    return given


def original_of(desk: Desk, policy: Policy) -> Table:
    """Return the unmodified table that a policy reads, in memory."""
    return open_table(table_of(desk, policy))


def certificate_in(files: Files) -> dict[str, Any]:
    """Return the content of the certificate for others next to a release."""
    certificate: dict[str, Any] = json.loads(Path(files["certificate"]).read_text(encoding="utf-8"))
    return certificate


def column_picture(desk: Desk, policy: Policy, files: Files, column: str) -> str:
    """Return the shares of a column's values before and after, drawn as in the report; drawn once for a release."""
    drawn: dict[str, str] = desk.keep(("shares", stamp_of(Path(files["table"]), policy.input.reading)), dict, most=1)
    if column not in drawn:
        drawn[column] = _draw_column(desk, policy, files, column)
    return drawn[column]


def _draw_column(desk: Desk, policy: Policy, files: Files, column: str) -> str:
    """Draw the distribution of a column before and after publishing, as SVG."""
    given = published_files(desk, policy, files)
    role = policy.schema.role(column)
    # Read classes by one quasi-identifier only: building them from all is slow on large tables.
    quasi = [column] if role is Role.QUASI else policy.schema.quasi[:1]
    alone = Schema(quasi=quasi, insensitive=[] if role is Role.QUASI else [column])
    table = open_table(given.require_original("the picture of a column"))
    hierarchies = {name: each for name, each in given.used_hierarchies.items() if name in alone.columns}
    original = encoded_original(table.data, alone, hierarchies=hierarchies)
    domains = {name: each.domain for name, each in original.items()}
    view = view_of(given.tables, policy.schema, domains=domains, hierarchies=hierarchies)
    shares = shares_of(original, view)[column]
    notes = [] if shares.exact else [SPREAD]
    return draw_shares(
        column,
        shares.labels,
        before=shares.before,
        after=shares.after,
        notes=notes,
        edges=shares.edges,
        dates=shares.dates,
        joined=shares.joined,
    )


def all_distances(desk: Desk, policy: Policy, files: dict[str, Any]) -> dict[str, Any]:
    """Compare all columns and pairs with the original: a picture, and figures by column."""
    desk.enter("reading")
    given = published_files(desk, policy, files)
    desk.enter("comparing columns")
    distances = distributions(given, progress=desk.report)
    picture = None
    if len(distances.columns) > 1:
        picture = draw_distributions(distances, title="How far the release is from the original")
    return {"picture": picture, **distances.to_json()}


def zip_files(target: Path, files: Iterable[Path]) -> Path:
    """Write a ZIP archive of files without folders, times and owners."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(files, key=lambda each: each.name):
            entry = zipfile.ZipInfo(path.name, EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            with path.open("rb") as source, archive.open(entry, "w", force_zip64=True) as entry_file:
                shutil.copyfileobj(source, entry_file, 1 << 20)
    target.chmod(0o600)
    return target
