"""A search: from a policy to the files of a verified release, and what was found on the way."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from indistinct.algorithms.registry import parse_algorithm
from indistinct.errors import IndistinctError
from indistinct.evaluation.measure.measure import assignment_of, column_losses, measure
from indistinct.evaluation.summary import summary_of_release
from indistinct.evaluation.verdict import figures_of_certificate
from indistinct.job.job import job_of_policy
from indistinct.job.policy import Policy
from indistinct.job.running import run_job
from indistinct.metrics.base import counted_in_people
from indistinct.recoding.outputs import MAIN
from indistinct.release.certificate import certificate_path, table_path
from indistinct.release.published import describe_release
from indistinct.release.release import Release
from indistinct.release.writing.formats import FORMATS
from indistinct.web.tasks.tables import table_of
from indistinct.web.worker import Desk

RECODING = "recoding.json"


def search(desk: Desk, policy: Policy, folder: Path) -> dict[str, Any]:
    """Publish by a policy into a new folder; return the summary of the run and the paths of its files.

    The release is verified as written. It is the one that `indistinct anonymize` makes of the policy: its recoding is
    kept, but an algorithm that chooses by itself is not held to those that suit other tables. A ledger is read and not
    written: a release that is only looked at is not recorded.
    """
    folder.mkdir(mode=0o700, parents=True)
    path, recoding = folder / release_name(policy), folder / RECODING
    desk.enter("reading")
    table = table_of(desk, policy)
    release = _release(policy, table, path, progress=lambda share: desk.report(0.9 * share))
    release.write_recoding(recoding)
    desk.enter("measuring")
    summary = summary_of_release(release, path, metrics=_measure(release, policy), recoding=recoding).to_json()
    desk.report(1.0)
    files = {
        "table": path,
        "certificate": certificate_path(path),
        "recoding": recoding,
        "others": [table_path(path, name) for name in release.tables if name != MAIN],
    }
    figures = figures_of_certificate(release.certificate, policy.schema)
    return {**summary, **_figures(release), "figures": figures, "files": files, "output": policy.output}


def _release(policy: Policy, table: Any, path: Path, *, progress: Any) -> Release:
    """Make the release without recording it in the ledger."""
    job = job_of_policy(policy, table=table, output=path, progress=progress)
    if job.history.ledger is None:
        return run_job(job)
    destination = job.destination
    release = run_job(replace(job, destination=replace(destination, output=None)))
    unrecorded = replace(release, record=None)
    certificate = unrecorded.write(path, smallest_count=destination.smallest_count, writing=destination.writing)
    return replace(unrecorded, certificate=certificate)


def release_name(policy: Policy) -> str:
    """Return the file name of a release: that of the policy if its format can be written here.

    >>> from indistinct.job.policy import Input, Output
    >>> from indistinct.schema import Schema
    >>> job = Policy(Input(Path("people.csv")), Schema(quasi=["age"]), ())
    >>> release_name(job)
    'people-release.csv'
    >>> release_name(replace(job, output=Output(Path("out/open.parquet"))))
    'open.parquet'
    """
    named = policy.output.path
    if named is not None and named.suffix.lower() in FORMATS:
        return named.name
    return f"{policy.input.path.name.partition('.')[0] or 'table'}-release.csv"


def _measure(release: Release, policy: Policy) -> Any:
    """Measure the metrics of the policy; a metric that cannot be measured does not affect a verified release."""
    try:
        return measure(release, policy.metrics or None, target=policy.target)
    except IndistinctError:
        return measure(release)


def _figures(release: Release) -> dict[str, Any]:
    """Return the figures of the result beyond the summary.

    Losses are shares of detail, by column, and their mean; where values are not recoded there are none.
    """
    certificate, losses = release.certificate, losses_of(release)
    return {
        "violations": sum(verdict.violating_classes for verdict in certificate.verdicts),
        "column_losses": dict(losses),
        "loss": sum(losses.values()) / len(losses) if losses else None,
        "people": None if certificate.people is None else certificate.people.published,
        "original_people": None if certificate.people is None else certificate.people.original,
        "suppressed_people": None if certificate.people is None else certificate.people.suppressed,
        "reusable": parse_algorithm(certificate.algorithm or "auto").traits.reusable,
    }


def losses_of(release: Release) -> Mapping[str, float]:
    """Return the share of detail that each column loses, in people where they count; in buckets none does."""
    return (
        {}
        if release.structure.unmeasured
        else column_losses(counted_in_people(assignment_of(describe_release(release))))
    )
