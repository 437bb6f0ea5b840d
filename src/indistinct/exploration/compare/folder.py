"""The folder of a comparison: its trials are kept, so that an interrupted run continues where it ended.

The folder is private. It contains figures, specifications and names of columns, and no value of the table.
"""

import hashlib
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa

import indistinct
from indistinct.errors import OutputError
from indistinct.exploration.compare.trials import ComparedJob, Point, Trial, trial_from_json
from indistinct.release.writing.files import write_atomically
from indistinct.release.writing.staging import digest_of, filled
from indistinct.tables.opening import open_table
from indistinct.tables.value import Table
from indistinct.text_form import spell

TRIALS = "trials"


def private_folder(path: Path) -> Path:
    """Return a folder that only its owner can read: a new one, an empty one, or that of an earlier comparison."""
    try:
        path.mkdir(mode=0o700, exist_ok=True)
        others = [each.name for each in path.iterdir()]
        if others and TRIALS not in others:
            raise OutputError(
                f"the folder {path} holds something else than a comparison", hint="name a new folder, or an empty one"
            )
        path.chmod(0o700)
        (path / TRIALS).mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise OutputError(
            f"the folder {path} cannot be used: {error.strerror or 'the disk refused it'}",
            hint="name a folder that you may write to, in one that exists",
        ) from None
    return path


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner can read, replacing an older one."""
    write_atomically(path, filled(text), overwrite=True, private=True)


class KeptTrials:
    """The trials that a folder keeps of one job; with another table or other roles none are found."""

    def __init__(self, folder: Path, compared: ComparedJob) -> None:
        self.folder, self.job = folder / TRIALS, _digest_of_job(compared)

    def find(self, point: Point) -> Trial | None:
        """Return the trial of a point from an earlier run, None if there is none or its file cannot be read."""
        with suppress(OSError, ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError):
            trial = trial_from_json({**json.loads(self._path(point).read_text(encoding="utf-8")), "kept": True})
            return trial if trial.point == point else None
        return None

    def keep(self, trial: Trial) -> None:
        """Keep a trial, unless it failed: it may succeed another time."""
        if trial.state != "failed":
            write_private(self._path(trial.point), json.dumps(trial.to_json(), allow_nan=False) + "\n")

    def _path(self, point: Point) -> Path:
        """Return the file that keeps the trial of a point."""
        words = [self.job, point.algorithm, point.model, point.suppression.plain]
        return self.folder / f"{hashlib.sha256(json.dumps(words).encode()).hexdigest()}.json"


def _digest_of_job(compared: ComparedJob) -> str:
    """Return a digest of everything on which figures depend, except the point."""
    job = compared.job
    parts = {
        "version": indistinct.__version__,
        "table": _digest_of_table(job.table),
        "population": _digest_of_population(job.population),
        "schema": {name: str(job.schema.role(name)) for name in job.schema.columns},
        "hierarchies": {name: repr(job.hierarchies[name]) for name in sorted(job.hierarchies)},
        "metrics": [spell(metric) for metric in compared.metrics],
        "target": job.target,
    }
    if compared.preference is not None:
        parts |= {
            "analysis": repr(compared.preference.plan),
            "original": _digest_of_population(compared.preference.original),
        }
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _digest_of_population(population: Any) -> str | None:
    """Return the digest of a population, None without one."""
    if population is None:
        return None
    return (
        digest_of(Path(population)) if isinstance(population, str | Path) else _digest_of_table(open_table(population))
    )


def _digest_of_table(table: Table) -> str:
    """Return a digest of a table's columns and of how it was read; chunks and dictionaries do not change it."""
    digest = hashlib.sha256(repr(table.reading).encode())
    for name in table.columns:
        column = table.data[name]
        plain = column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
        digest.update(f"{name}\0{plain.type}\0{len(plain)}\0".encode())
        with pa.ipc.new_stream(_BytesOnly(digest), pa.schema([(name, plain.type)])) as stream:
            stream.write_table(pa.table({name: plain.combine_chunks()}))
    return digest.hexdigest()


class _BytesOnly:
    """A file that passes its bytes to a digest."""

    closed = False

    def __init__(self, digest: Any) -> None:
        self.digest = digest

    def write(self, data: Any) -> int:
        self.digest.update(data)
        return len(data)

    def flush(self) -> None:
        """Do nothing: nothing is buffered."""

    def close(self) -> None:
        """Do nothing: there is nothing to close."""
