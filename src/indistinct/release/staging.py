"""Files of a release that are complete but have no name yet: written beside their place, then renamed."""

import errno
import hashlib
import os
import secrets
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from indistinct.errors import OutputError

Produce = Callable[[Path], None]
# What a file system answers that knows no hard links.
LINKLESS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)


@dataclass(frozen=True, slots=True)
class Staged:
    """A complete file under a temporary name, where it goes, and the SHA-256 of its content."""

    temporary: Path
    target: Path
    digest: str


def filled(text: str) -> Produce:
    """Return what fills a file with text: UTF-8, with line feeds."""

    def produce(place: Path) -> None:
        place.write_text(text, encoding="utf-8", newline="\n")

    return produce


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def staging() -> Iterator[list[Staged]]:
    """Give a list for staged files; whatever happens, no temporary file outlives the block."""
    staged: list[Staged] = []
    try:
        yield staged
    finally:
        for each in staged:
            each.temporary.unlink(missing_ok=True)


def check_target(target: Path, *, overwrite: bool) -> None:
    """Raise `OutputError` if a file cannot or may not be put at a path."""
    try:
        if target.is_dir():
            raise OutputError(f"{target} is a directory", hint="name a file inside it")
        if not target.parent.is_dir():
            raise OutputError(f"there is no directory {target.parent}", hint="create it first, or choose another path")
    except OSError as error:
        raise _failed(target, error) from None
    if not overwrite and os.path.lexists(target):
        raise _in_the_way(target)


def stage(target: Path, produce: Produce, *, private: bool = False) -> Staged:
    """Let `produce` fill a temporary file beside `target` and sync it to disk.

    The file is its owner's alone until it is complete, and stays so if it is `private`.
    """
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(8)}.tmp")
    try:
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        produce(temporary)
        return Staged(temporary, target, _seal(temporary, private=private))
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise _failed(target, error) from None
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def publish(staged: Sequence[Staged], *, overwrite: bool) -> None:
    """Give every staged file its name, or none of them."""
    with ExitStack() as leftovers, ExitStack() as undo:
        for each in staged:
            kept = _keep(each.target) if overwrite else None
            if kept is not None:
                leftovers.callback(kept.unlink, missing_ok=True)
            try:
                _rename(each, overwrite=overwrite)
            except OSError as error:
                raise _failed(each.target, error) from None
            undo.callback(_take_back, each.target, kept)
        for folder in {each.target.parent for each in staged}:
            _sync(folder)
        undo.pop_all()


def _take_back(target: Path, kept: Path | None) -> None:
    with suppress(OSError):
        if kept is None:
            target.unlink()
        else:
            kept.replace(target)


def _rename(each: Staged, *, overwrite: bool) -> None:
    if overwrite:
        each.temporary.replace(each.target)
        return
    try:
        # A link fails where a file appeared meanwhile; a rename would silently replace it.
        os.link(each.temporary, each.target)
    except FileExistsError:
        raise _in_the_way(each.target) from None
    except OSError as error:
        if error.errno not in LINKLESS:
            raise
        if os.path.lexists(each.target):
            raise _in_the_way(each.target) from None
        each.temporary.replace(each.target)
    else:
        each.temporary.unlink()


def _keep(target: Path) -> Path | None:
    """Return a second name for the file that is about to be replaced, None if there is none or no way."""
    kept = target.with_name(f".{target.name}.{secrets.token_hex(8)}.tmp")
    try:
        os.link(target, kept, follow_symlinks=False)
    except OSError:
        return None
    return kept


def _seal(path: Path, *, private: bool) -> str:
    """Sync a file to disk, give it the mode of any new file unless it is private, and return its SHA-256."""
    with path.open("rb") as file, ThreadPoolExecutor(1) as thread:
        synced = thread.submit(os.fsync, file.fileno())
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        synced.result()
    if private:
        return digest
    # The mask can only be read by setting it; the strictest one is the safest in between.
    mask = os.umask(0o077)
    os.umask(mask)
    path.chmod(0o666 & ~mask)
    return digest


def _sync(folder: Path) -> None:
    # Some file systems refuse to sync a directory; the file itself is on disk by now.
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _in_the_way(target: Path) -> OutputError:
    return OutputError(f"{target} exists already", hint="choose another path, or allow it with --overwrite")


def _failed(target: Path, error: OSError) -> OutputError:
    return OutputError(
        f"{target} cannot be written: {os.strerror(error.errno) if error.errno else 'the disk refused it'}",
        hint="check the permissions of the directory and the free space",
    )
