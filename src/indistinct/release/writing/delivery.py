"""A release at an address such as s3://bucket/release.csv: whole under temporary names, then moved, its seal last.

It is written and verified on this machine first, in a directory of its owner's alone, and read back where it went.
"""

import hashlib
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from indistinct.errors import IndistinctError, OutputError
from indistinct.machine.spill import private_directory
from indistinct.tables.addresses import Remote, address_of, name_of, remote, without_credentials

BLOCK = 1 << 20
Result = TypeVar("Result")


def check_address(address: str, *, overwrite: bool) -> None:
    """Raise `OutputError` if a file cannot be written to an address, or must not be overwritten."""
    if "?" in address or "#" in address:
        raise OutputError(
            f"{without_credentials(address)} has a query, and no name of a file",
            hint="give the address without what follows the ?",
        )
    target = remote(address)
    with _reached(address):
        if target.system.isdir(target.path):
            raise OutputError(f"{without_credentials(address)} is a directory", hint="name a file inside it")
        if not overwrite and target.system.exists(target.path):
            raise OutputError(
                f"{without_credentials(address)} exists already",
                hint="choose another address, or allow it with `overwrite=True` (--overwrite)",
            )


def delivered(
    address: str, write: Callable[[Path], Result], files: Callable[[Path], Sequence[Path]], *, overwrite: bool
) -> Result:
    """Let `write` make a release in a private directory, then upload its `files`; return the result of `write`.

    The last of the files is the seal: an old one goes first, and the new one comes last. On a failure nothing new is
    left; where moving a file is a copy, as in most stores, readers see the old file or the new one, never a part.
    """
    for each in files(Path(address)):
        check_address(str(address_of(each)), overwrite=overwrite)
    target = remote(address)
    parent = target.path.rpartition("/")[0]
    with private_directory() as folder:
        here = folder / name_of(address)
        result = write(here)
        made = [file for file in files(here) if file.exists()]
        with _reached(address):
            _put_together(target, made, parent)
    return result


def _put_together(remote_file: Remote, files: Sequence[Path], parent: str) -> None:
    """Upload files under temporary names, compare them with what was sent, and give them their names, the seal last."""
    system, token = remote_file.system, secrets.token_hex(8)
    temporary = {file: f"{parent}/.{file.name}.{token}.tmp" for file in files}
    targets = {file: f"{parent}/{file.name}" for file in files}
    moved: list[str] = []
    replaced = {file: system.exists(target) for file, target in targets.items()}
    try:
        for file, name in temporary.items():
            system.put_file(str(file), name)
            _compare(remote_file._replace(path=name), file)
        if replaced[files[-1]]:
            system.rm_file(targets[files[-1]])
        for file, name in temporary.items():
            if not replaced[file]:
                moved.append(targets[file])
            _move(remote_file, name, targets[file])
    except BaseException:
        for name in (*temporary.values(), *moved):
            with suppress(Exception):
                system.rm_file(name)
        raise


def _move(remote_file: Remote, name: str, target: str) -> None:
    """Move a file at an address, replacing the target where the system does not do that itself."""
    try:
        remote_file.system.mv(name, target)
    except Exception:
        if not remote_file.system.exists(target):
            raise
        remote_file.system.rm_file(target)
        remote_file.system.mv(name, target)


def _compare(target: Remote, file: Path) -> None:
    """Raise `OutputError` unless a file arrived unchanged."""
    sent = hashlib.sha256()
    with target.system.open(target.path, "rb") as opened:
        while block := opened.read(BLOCK):
            sent.update(block)
    with file.open("rb") as here:
        if hashlib.file_digest(here, "sha256").hexdigest() != sent.hexdigest():
            raise OutputError(f"{file.name} does not hold what was sent", hint="nothing was published; try again")


@contextmanager
def _reached(address: str) -> Iterator[None]:
    """Say in our words that an address refuses a file: what others say may quote it with its password."""
    try:
        yield
    except (IndistinctError, MemoryError):
        raise
    except Exception:  # noqa: BLE001 (every file system has its own errors)
        raise OutputError(
            f"{without_credentials(address)} cannot be written",
            hint="check the address, and what it needs to let you in",
        ) from None
