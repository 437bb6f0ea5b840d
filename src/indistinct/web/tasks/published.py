"""The files of a release with what their policy says of them, described as the command line describes them."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from indistinct.job.policy import Policy
from indistinct.job.published import published
from indistinct.release.published import Published
from indistinct.tables import Table, open_table
from indistinct.web.tasks.tables import stamp_of, table_of
from indistinct.web.worker import Desk

Files = Mapping[str, Any]
"""Where the files of a release lie: `table`, `certificate`, `recoding`, and a list of `others`."""


def published_files(desk: Desk, policy: Policy, files: Files) -> Published:
    """Return a release beside its original, as its policy and its recoding describe it; the last one is kept."""
    path, reading = Path(files["table"]), policy.input.reading
    stamps = (stamp_of(path, reading), stamp_of(Path(files["recoding"]), reading), stamp_of(policy.source, reading))
    given: Published = desk.keep(
        ("published", *stamps, repr(policy)),
        lambda: published(path, policy=policy, original=original_of(desk, policy), recoding=files["recoding"]),
        most=1,
    )
    return given


def original_of(desk: Desk, policy: Policy) -> Table:
    """Return the table that a policy reads, in memory and as it is."""
    source: Any = table_of(desk, policy)
    return source if isinstance(source, Table) else open_table(source)


def certificate_in(files: Files) -> dict[str, Any]:
    """Return what the certificate for others says that lies beside a release."""
    told: dict[str, Any] = json.loads(Path(files["certificate"]).read_text(encoding="utf-8"))
    return told
