"""What leaves the page: a release verified afresh, its certificate, reports, policy and recoding, and all in a zip."""

import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from indistinct.document.catalogue import ENGLISH
from indistinct.errors import MissingExtraError, VerificationError
from indistinct.evaluation.verify import verify
from indistinct.job.job import job_of_policy
from indistinct.job.policy import Policy, policy_to_toml
from indistinct.job.running import run_job
from indistinct.recoding.outputs import SENSITIVE
from indistinct.recoding.storage import arrays_path, read_recoding
from indistinct.release.certificate import certificate_path, table_path
from indistinct.release.promise import promised_model
from indistinct.release.writing.places import check_targets
from indistinct.release.writing.staging import Produce, filled, publish, stage, staging
from indistinct.reporting.report import report_editions
from indistinct.web.tasks.published import (
    ALL,
    MUST_NOT_HAPPEN,
    PACKAGE,
    Files,
    original_of,
    published_files,
    zip_files,
)
from indistinct.web.worker import Desk

FOR_RECIPIENTS = ("table", "second", "certificate", "report")
"""What recipients may have; all else stays with the steward."""


def prepare(
    desk: Desk,
    policy: Policy,
    made: Mapping[str, Any],
    folder: Path,
    *,
    shipped: Policy,
    again: bool = False,
    reports: bool = True,
    seconds: float = 6.0,
    attacks: Mapping[str, Any] | None = None,
    language: str = ENGLISH,
) -> dict[str, Any]:
    """Make the files of a release as the policy wants them written, and verify them afresh.

    `made` is what the search found, and `shipped` the policy for recipients. The table is written `again` from the
    recoding if it shall look otherwise; else it is the one that the search wrote. Reports tell of `attacks` that were
    run, or run some for up to `seconds`; the one for recipients is in `language`. Returns `verdict`, the files of
    `downloads` by their kind, and `notes`. Raises `VerificationError` if a guarantee is not satisfied.
    """
    folder.mkdir(mode=0o700, parents=True)
    path = folder / shipped_name(shipped)
    files: dict[str, Any] = {"table": path, "certificate": certificate_path(path), "recoding": _recoding_of(path)}
    _copy_recoding(made["files"]["recoding"], files["recoding"])
    if again:
        desk.enter("writing again")
        _write_again(desk, policy, made, path)
    else:
        for old, new in _name_files(made["files"], path):
            _give(old, new)
    files["others"] = [each for each in (table_path(path, SENSITIVE),) if each.is_file()]
    desk.report(0.2)
    desk.enter("verifying")
    verdict = verify_files(desk, policy, files)
    if not verdict["holds"]:
        raise VerificationError(
            "the published file does not satisfy its privacy guarantee, so it cannot be downloaded",
            hint=MUST_NOT_HAPPEN,
        )
    desk.report(0.4)
    downloads = _write_documents(files, shipped=shipped)
    asked = {"policy": shipped, "seconds": seconds, "attacks": attacks, "language": language}
    notes = _write_reports(desk, policy, downloads, files, asked) if reports else []
    desk.enter("packing")
    stem = path.name.partition(".")[0]
    handed = {kind: each for kind, each in downloads.items() if kind in FOR_RECIPIENTS}
    downloads[PACKAGE] = zip_files(folder / f"{stem}.zip", handed.values())
    everything = [each for kind, each in downloads.items() if kind != PACKAGE]
    downloads[ALL] = zip_files(folder / f"{stem}-everything-private.zip", everything)
    desk.report(1.0)
    return {"verdict": verdict, "downloads": downloads, "notes": notes}


def shipped_name(policy: Policy) -> str:
    """Return the file name of the released table."""
    return "release.csv" if policy.output.path is None else policy.output.path.name


def _recoding_of(path: Path) -> Path:
    return path.with_name(f"{path.name.partition('.')[0]}.recoding.json")


def _name_files(old: Files, path: Path) -> Iterable[tuple[Path, Path]]:
    """Yield each published file with the path for the recipient."""
    yield old["table"], path
    yield old["certificate"], certificate_path(path)
    for each in old["others"]:
        yield each, table_path(path, SENSITIVE)


def _give(old: Path, new: Path) -> None:
    """Link a file under a second name; copy it where the disk does not support links."""
    try:
        os.link(old, new)
    except OSError:
        shutil.copyfile(old, new)
        new.chmod(0o600)


def _copy_recoding(old: Path, new: Path) -> None:
    _give(old, new)
    if arrays_path(old).is_file():
        _give(arrays_path(old), arrays_path(new))


def _write_again(desk: Desk, policy: Policy, made: Mapping[str, Any], path: Path) -> None:
    """Publish the table again with the found recoding in another format, and record it in the ledger."""
    recoding = read_recoding(made["files"]["recoding"])
    original = original_of(desk, policy)
    # Guarantee and limit are those of the first release, stored in its recoding.
    job = job_of_policy(policy, table=original, recoding=recoding, model=None, suppression=None, output=None)
    release = run_job(job)
    about = replace(release.check.about, algorithm=made["certificate"]["algorithm"])
    release = replace(release, check=replace(release.check, about=about))
    release.write(path, smallest_count=job.destination.smallest_count, writing=job.destination.writing)


def verify_files(desk: Desk, policy: Policy, files: Files) -> dict[str, Any]:
    """Verify a release as `indistinct verify` does, with all counts, for the steward."""
    given = published_files(desk, policy, files)
    return verify(given, model=promised_model(policy.model, policy.algorithm, policy.schema)).to_json()


def _write_documents(files: Files, *, shipped: Policy) -> dict[str, Path]:
    """Write the policy; return all files by their kind."""
    path = files["table"]
    downloads = {"table": path, "certificate": files["certificate"], "recoding": files["recoding"]}
    if files["others"]:
        (downloads["second"],) = files["others"]
    if arrays_path(files["recoding"]).is_file():
        downloads["recoding-arrays"] = arrays_path(files["recoding"])
    downloads["policy"] = path.with_name("policy.toml")
    downloads["policy"].write_text(policy_to_toml(shipped), encoding="utf-8", newline="\n")
    downloads["policy"].chmod(0o600)
    return downloads


def _write_reports(
    desk: Desk,
    policy: Policy,
    downloads: dict[str, Path],
    files: Files,
    asked: Mapping[str, Any],
) -> list[str]:
    """Write both reports, as `asked`, and add them to the files; return what could not be written."""
    desk.enter("writing the reports")
    try:
        made = report_editions(published_files(desk, policy, files), **asked)
    except MissingExtraError as error:
        return [f"There is no report: {error.message}. {error.hint or ''}".strip()]
    desk.report(0.9)
    path = files["table"]
    stem = path.name.partition(".")[0]
    downloads["report"] = made["external"].write(path.with_name(f"{stem}.report.html"))
    downloads["report-internal"] = made["internal"].write(path.with_name(f"{stem}.internal.html"))
    return []


def write_into(
    _desk: Desk,
    folder: Path,
    downloads: Mapping[str, Path],
    *,
    policy: Policy,
    sources: Sequence[Path],
    overwrite: bool,
) -> list[str]:
    """Write the files of a release into a folder, all or none; return their names.

    The archives are left out. The policy is written with paths relative to that folder, and what is only for the
    steward can be read by its owner alone. No file of `sources` is replaced.
    """
    folder.mkdir(parents=True, exist_ok=True)
    kinds = [kind for kind in downloads if kind not in (ALL, PACKAGE, "certificate")]
    kinds.append("certificate")  # which vouches for the others, and comes last
    targets = {kind: folder / downloads[kind].name for kind in kinds}
    check_targets(targets.values(), sources=sources, overwrite=overwrite)
    with staging() as staged:
        for kind, target in targets.items():
            produce = filled(policy_to_toml(policy)) if kind == "policy" else _copy_file(downloads[kind])
            staged.append(stage(target, produce, private=kind not in FOR_RECIPIENTS))
        publish(staged, overwrite=overwrite)
    return [target.name for target in targets.values()]


def _copy_file(source: Path) -> Produce:
    def produce(target: Path) -> None:
        shutil.copyfile(source, target)

    return produce
