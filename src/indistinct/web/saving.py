"""Saved jobs: a steward's decisions, in a private folder and as a file for download.

A saved job has its policy and further decisions made on the page. It has no row of the table, unless the steward asks
for a copy. The page opens it like a policy: a missing table must be given again.
"""

import io
import json
import os
import secrets
import shutil
import time
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from indistinct.errors import InputError
from indistinct.tables.extents import ARCHIVE_ERRORS

SUFFIX = ".indistinct"
"""How the file of a saved job ends; it is a zip archive."""
POLICY, TOLD, ROWS = "policy.toml", "job.json", "rows"
FORMAT = 1
# More jobs are not kept: the oldest goes.
MAX_SAVED_JOBS = 40
# What the parts of a job may be, in bytes: a policy with large hierarchies, and some choices.
LARGEST = {POLICY: 1 << 26, TOLD: 1 << 20}


@dataclass(frozen=True, slots=True)
class SavedJob:
    """A saved job: the name of its table, its policy as text, and further decisions made on the page."""

    name: str
    policy: str
    told: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ShelfEntry:
    """A saved job in a list: its key, the name of its table, when it was saved, and whether its rows are there."""

    key: str
    name: str
    saved: float
    rows: bool


class Shelf:
    """A folder of saved jobs that its owner alone can enter; without a folder nothing is saved."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder

    @property
    def keeps(self) -> bool:
        """Whether jobs are saved here."""
        return self._folder is not None

    def put(self, key: str, job: SavedJob, *, rows: Path | None = None) -> None:
        """Save a job under its key, with a copy of its table where one is given; a copy that is not wanted goes."""
        if self._folder is None:
            return
        folder = self._folder / key
        for each in (self._folder, folder):
            each.mkdir(mode=0o700, parents=True, exist_ok=True)
        for name, text in _texts(job).items():
            _write_private(folder / name, text.encode())
        if rows is None:
            shutil.rmtree(folder / ROWS, ignore_errors=True)
        else:
            _copy_rows(rows, folder / ROWS)
        for old in self.entries()[MAX_SAVED_JOBS:]:
            self.remove(old.key)

    def entries(self) -> list[ShelfEntry]:
        """Return the saved jobs, the newest first; unreadable ones are skipped."""
        shelf_entries = []
        for index in self._folder.glob("*") if self._folder is not None and self._folder.is_dir() else ():
            try:
                document = json.loads(_read_own(index / TOLD, most=LARGEST[TOLD]))
                saved = (index / TOLD).stat().st_mtime
                shelf_entries.append(
                    ShelfEntry(index.name, str(document["name"]), saved, any((index / ROWS).glob("*")))
                )
            except (OSError, ValueError, KeyError, TypeError, InputError):
                continue
        return sorted(shelf_entries, key=lambda each: -each.saved)

    def take(self, key: str) -> tuple[SavedJob, Path | None]:
        """Return a saved job, and the path of the copy of its table, if there is one."""
        folder = self._place_of(key)
        texts = {name: _read_own(folder / name, most=most).decode() for name, most in LARGEST.items()}
        rows = next(iter(sorted((folder / ROWS).glob("*"))), None)
        return _job_of(texts), rows

    def remove(self, key: str) -> None:
        """Remove a saved job with everything that belongs to it."""
        shutil.rmtree(self._place_of(key), ignore_errors=True)

    def _place_of(self, key: str) -> Path:
        if self._folder is None or key not in {each.name for each in self._folder.glob("*")}:
            raise InputError("this job is not saved here any more", hint="open its table again, or its policy")
        return self._folder / key


def usual_place() -> Path:
    """Return the folder where programs of this system keep the state of a user."""
    if os.name == "nt":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "indistinct" / "jobs"
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "indistinct" / "jobs"


def new_key() -> str:
    """Return a key under which no other job is saved: the time, and some letters by chance."""
    return f"{int(time.time()):x}-{secrets.token_hex(6)}"


def pack_job(job: SavedJob, *, rows: Path | None = None) -> bytes:
    """Return a saved job as one file to take along; with its rows only where they are given."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in _texts(job).items():
            archive.writestr(zipfile.ZipInfo(name), text, zipfile.ZIP_DEFLATED)
        if rows is not None:
            archive.write(rows, f"{ROWS}/{rows.name}")
    return made.getvalue()


def unpack_job(path: Path, *, into: Path, most: int) -> tuple[SavedJob, Path | None]:
    """Return the job in a file; its rows, at most `most` bytes, are unpacked into a folder under their own name."""
    wrong = InputError(f"{path.name} is not a saved job of the web app", hint=f"such a file ends in {SUFFIX}")
    try:
        with zipfile.ZipFile(path) as archive:
            job = _job_of({name: _part(archive, name, most=limit).decode() for name, limit in LARGEST.items()})
            inside = [each for each in archive.namelist() if each.startswith(f"{ROWS}/") and not each.endswith("/")]
            rows = None
            if inside:
                rows = into / Path(inside[0]).name
                _write_private(rows, _part(archive, inside[0], most=most))
        return job, rows
    except (*ARCHIVE_ERRORS, KeyError):
        raise wrong from None


def _part(archive: zipfile.ZipFile, name: str, *, most: int) -> bytes:
    """Return a part of an archive; one that decompresses to more than it may is refused before it does."""
    with archive.open(name) as part:
        content = part.read(most + 1)
    if len(content) > most:
        raise InputError("a part of this saved job is larger than it may be", hint="open its table and policy apart")
    return content


def _texts(job: SavedJob) -> dict[str, str]:
    """Return the files of a saved job."""
    document = {"format": FORMAT, "name": job.name, "told": dict(job.told)}
    return {POLICY: job.policy, TOLD: json.dumps(document, indent=1)}


def _job_of(texts: Mapping[str, str]) -> SavedJob:
    """Parse the texts of a saved job."""
    document = json.loads(texts[TOLD])
    wrong = not isinstance(document, dict) or document.get("format") != FORMAT
    if wrong or not isinstance(document.get("told"), dict):
        raise InputError("another version of indistinct saved this job", hint="open its policy instead")
    return SavedJob(str(document["name"]), texts[POLICY], document["told"])


def _read_own(path: Path, *, most: int) -> bytes:
    """Read a file that the web app wrote, outside of the folders that tables are read from."""
    if path.is_symlink() or path.stat().st_size > most:
        raise InputError("this saved job was not written by the web app", hint="remove it")
    return path.read_bytes()


def _write_private(path: Path, content: bytes) -> None:
    """Write a file atomically, readable by its owner alone."""
    part = path.with_name(f".{secrets.token_hex(4)}")
    handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _copy_rows(source: Path, folder: Path) -> None:
    """Copy a table into a folder of its own unless an equal copy exists."""
    target, status = folder / source.name, source.stat()
    if target.is_file() and (target.stat().st_size, target.stat().st_mtime_ns) == (status.st_size, status.st_mtime_ns):
        return
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o700)
    target.touch(mode=0o600)
    shutil.copyfile(source, target)
    os.utime(target, ns=(status.st_atime_ns, status.st_mtime_ns))
