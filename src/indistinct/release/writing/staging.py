"""Files of a release that are complete but have no name yet: written next to their targets, then renamed together."""

import errno
import hashlib
import os
import re
import secrets
import shutil
import stat
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from indistinct.errors import OutputError
from indistinct.machine.locks import create_locked, hold_unlocked, remove_unlocked, turn
from indistinct.machine.threads import spread
from indistinct.release.writing.delivery import check_address
from indistinct.tables.addresses import address_of
from indistinct.tables.lakes import lake_around
from indistinct.tables.several import is_partition

Produce = Callable[[Path], None]
LOCK = "lock"
# What a file system answers that knows no hard links.
LINKLESS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)


@dataclass(frozen=True, slots=True)
class Staged:
    """A complete file under a temporary name, its target, the SHA-256 of its content, and what holds its lock.

    It may be a folder of files as well, which lies in a hidden folder of its own, `around`.
    """

    temporary: Path
    target: Path
    digest: str
    private: bool
    lock: int | None
    around: Path | None = None


def filled(text: str) -> Produce:
    """Return a function that writes a text to a file, in UTF-8 with line feeds."""

    def produce(path: Path) -> None:
        path.write_text(text, encoding="utf-8", newline="\n")

    return produce


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a file; that of a folder is taken of the names of its files and the SHA-256 of each."""
    if path.is_dir():
        return digest_of_folder(path, digest_of)
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def check_target(target: Path, *, overwrite: bool) -> None:
    """Raise `OutputError` if a file cannot be written to a path or an address, or must not be overwritten."""
    address = address_of(target)
    if address is not None:
        check_address(address, overwrite=overwrite)
        return
    with _explain_errors(target):
        if (lake := lake_around(target)) is not None:
            folder, kind = lake
            raise OutputError(f"{target} lies in the folder of the {kind} table {folder}", hint="choose a path outside")
        if target.is_dir() and not (is_table_folder(target) and (overwrite or any(target.iterdir()))):
            raise OutputError(f"{target} is a directory", hint="name a file inside it")
        if not target.parent.is_dir():
            raise OutputError(f"there is no directory {target.parent}", hint="create it first, or choose another path")
    if not overwrite and os.path.lexists(target):
        raise _in_the_way(target)


@contextmanager
def staging() -> Iterator[list[Staged]]:
    """Give a list for staged files; whatever happens, no temporary file outlives the block."""
    staged: list[Staged] = []
    try:
        yield staged
    finally:
        for each in staged:
            _discard(each.around or each.temporary, each.lock)


def stage(target: Path, produce: Produce, *, private: bool = False) -> Staged:
    """Let `produce` fill a temporary file next to `target` and sync it to disk.

    The file is its owner's alone until it is published, and stays so if it is `private`. It is locked: files that
    killed runs left for the same target are not, and are removed.
    """
    with _explain_errors(target):
        _remove_abandoned(target)
        temporary, lock = create_locked(lambda: _hidden(target, "tmp"))
        try:
            produce(temporary)
            digest, _ = spread(lambda act: act(temporary), (digest_of, _sync))
            return Staged(temporary, target, digest, private, lock)
        except BaseException:
            _discard(temporary, lock)
            raise


def stage_folder(target: Path, produce: Produce) -> Staged:
    """Let `produce` make a folder of files next to `target`, and sync all of it to disk.

    Others cannot enter the folder around it before it is published.
    """
    with _explain_errors(target):
        _remove_abandoned(target)
        around = _hidden(target, "tmp")
        around.mkdir(mode=0o700)
        lock = None
        try:
            _, lock = create_locked(lambda: around / LOCK)
            temporary = around / target.name
            produce(temporary)
            for path in (*sorted(temporary.rglob("*")), temporary):
                _sync(path)
            return Staged(temporary, target, digest_of(temporary), False, lock, around)
        except BaseException:
            _discard(around, lock)
            raise


def _remove_abandoned(target: Path) -> None:
    """Remove what killed runs left for a target."""
    for path in _leftovers(target, "tmp"):
        if not path.is_dir() or path.is_symlink():
            remove_unlocked(path)
            continue
        with hold_unlocked(path / LOCK) as unlocked:
            if unlocked:
                _discard(path)


def publish(staged: Sequence[Staged], *, overwrite: bool, outdated: Collection[Path] = ()) -> None:
    """Give every staged file its name, or none of them.

    The last one is the seal, which vouches for the others: the certificate of a release. An old seal goes first and
    the new one comes last, so that a kill at any moment leaves no seal next to files that it does not vouch for.
    `outdated` files next to the old seal go with it. On any failure, all that was there is restored.
    """
    *parts, seal = staged
    if not parts:
        _set_mode(seal, overwrite=overwrite)
        _rename(seal, overwrite=overwrite)
        _sync_folders(staged)
        return
    with turn(seal.target.with_name(f".{seal.target.name}.lock")) as alone:
        for each in staged:
            check_target(each.target, overwrite=overwrite)
            _set_mode(each, overwrite=overwrite)
        backups = _rename_together(parts, seal, overwrite=overwrite, outdated=outdated)
        if alone:
            backups += [path for each in staged for path in _leftovers(each.target, "old")]
        for path in backups:
            _discard(path)


def publish_before(staged: Sequence[Staged], commit: Callable[[], None], *, overwrite: bool) -> None:
    """Give every staged file its name, then commit what they belong to; if that fails, restore all that was there."""
    backups: list[Path] = []
    with ExitStack() as undo:
        for each in staged:
            check_target(each.target, overwrite=overwrite)
            if overwrite:
                backups.append(_hidden(each.target, "old"))
                undo.callback(_restore, each.target, backups[-1])
                with _explain_errors(each.target), suppress(FileNotFoundError):
                    _link_or_move(each.target, backups[-1])
            undo.callback(_take_back, each)
            _rename(each, overwrite=overwrite)
        _sync_folders(staged)
        commit()
        undo.pop_all()
    for path in backups:
        _discard(path)


def _rename_together(parts: Sequence[Staged], seal: Staged, *, overwrite: bool, outdated: Iterable[Path]) -> list[Path]:
    """Rename the parts, then the seal; return the second names of the files that were replaced."""
    backups = []
    with ExitStack() as undo:

        def back_up(path: Path, owner: Path, move: Callable[[Path, Path], None]) -> None:
            backups.append(_hidden(owner, "old"))
            undo.callback(_restore, path, backups[-1])
            with _explain_errors(path), suppress(FileNotFoundError):
                move(path, backups[-1])

        if overwrite:
            for path in (seal.target, *outdated):
                back_up(path, seal.target, os.replace)
            _sync_folders([seal])
        for each in parts:
            if overwrite:
                back_up(each.target, each.target, _link_or_move if each.around is None else os.replace)
            undo.callback(_take_back, each)
            _rename(each, overwrite=overwrite)
        _sync_folders(parts)
        undo.callback(_take_back, seal)
        _rename(seal, overwrite=overwrite)
        _sync_folders([seal])
        undo.pop_all()
    return backups


def _rename(each: Staged, *, overwrite: bool) -> None:
    """Rename a temporary file to its target; without `overwrite` never replace a file."""
    with _explain_errors(each.target):
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


def _link_or_move(path: Path, backup: Path) -> None:
    """Back up a file by a hard link, or move it where the disk has no links."""
    try:
        os.link(path, backup, follow_symlinks=False)
    except FileNotFoundError:
        raise
    except OSError:
        path.replace(backup)


def _take_back(each: Staged) -> None:
    """Remove a file from its target if it got there: its temporary name is gone then, or a second one."""
    with suppress(OSError):
        if not each.temporary.exists() or each.temporary.samefile(each.target):
            _discard(each.target)


def _restore(path: Path, backup: Path) -> None:
    """Put a backup back in place."""
    with suppress(OSError):
        backup.replace(path)
        # A rename leaves both names where they are those of one file.
        backup.unlink(missing_ok=True)


def _set_mode(each: Staged, *, overwrite: bool) -> None:
    """Give a file the owner, group and mode of the file that it replaces, or the mode of any new file.

    What the system refuses stays stricter. A group that is not the old one has the rights of other users, not more.
    """
    if each.private:
        return
    if each.around is not None:
        with suppress(OSError):
            open_to_readers(each.temporary, _new_mode())
        return
    with suppress(OSError):
        each.temporary.chmod(_inherited_mode(each) if overwrite and each.target.is_file() else _new_mode())


def _inherited_mode(each: Staged) -> int:
    """Give the temporary file the owner and group of the old one; return the old mode, without rights of others."""
    old = each.target.stat()
    for owner in (old.st_uid, -1):
        with suppress(OSError, AttributeError):  # there is no `chown` on Windows
            os.chown(each.temporary, owner, old.st_gid)
            break
    mode = old.st_mode & 0o777
    if each.temporary.stat().st_gid == old.st_gid:
        return mode
    return mode & ~stat.S_IRWXG | mode & (mode & stat.S_IRWXO) << 3


def _new_mode() -> int:
    # The mask can only be read by setting it; the strictest one is the safest in between.
    mask = os.umask(0o077)
    os.umask(mask)
    return 0o666 & ~mask


def _hidden(target: Path, ending: str) -> Path:
    """Return a new hidden name next to a target."""
    return target.with_name(f".{target.name}.{secrets.token_hex(8)}.{ending}")


def _leftovers(target: Path, ending: str) -> list[Path]:
    """Return the hidden temporary files of a target: of killed runs, of live ones, and our own."""
    hidden = re.compile(rf"\.{re.escape(target.name)}\.[0-9a-f]{{16}}\.{ending}")
    with suppress(OSError), os.scandir(target.parent) as entries:
        return [Path(each.path) for each in entries if hidden.fullmatch(each.name)]
    return []


def _discard(path: Path, lock: int | None = None) -> None:
    """Remove a temporary file or folder, and release its lock."""
    with suppress(OSError):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink()
    if lock is not None:
        os.close(lock)


def _sync(path: Path) -> None:
    """Flush a file or folder to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _sync_folders(staged: Iterable[Staged]) -> None:
    for folder in {each.target.parent for each in staged}:
        # Some file systems refuse to sync a directory; the files themselves are on disk by now.
        with suppress(OSError):
            _sync(folder)


@contextmanager
def _explain_errors(target: Path) -> Iterator[None]:
    """Convert errors of the system to `OutputError` with the target's name."""
    try:
        yield
    except OSError as error:
        raise OutputError(
            f"{target} cannot be written: {os.strerror(error.errno) if error.errno else 'the disk refused it'}",
            hint="check the permissions of the directory and the free space",
        ) from None


def _in_the_way(target: Path) -> OutputError:
    return OutputError(
        f"{target} exists already", hint="choose another path, or allow it with `overwrite=True` (--overwrite)"
    )


PART = re.compile(r"part-\d+\.parquet")


def digest_of_folder(folder: Path, digest_of: Callable[[Path], str]) -> str:
    """Return a digest of the names and contents of all files in a folder, whatever else became of it."""
    combined = hashlib.sha256()
    for path in sorted(folder.iterdir(), key=lambda each: each.name):
        combined.update(f"{path.name}\0{digest_of(path)}\n".encode())
    return combined.hexdigest()


def is_table_folder(folder: Path) -> bool:
    """Return whether a folder holds the parts of a table and nothing else, so that a new release may replace it.

    They may lie in folders of partitions, such as `sex=F`.
    """

    def is_part(path: Path) -> bool:
        if path.is_dir():
            return is_partition(path.name) and is_table_folder(path)
        return bool(PART.fullmatch(path.name)) and path.is_file()

    return not folder.is_symlink() and all(map(is_part, folder.iterdir()))


def tidy(folder: Path) -> None:
    """Remove all files but the parts of a table from a folder, and number the parts."""
    parts = []
    for path in sorted(folder.iterdir()):
        if path.name.startswith(("part-", "part_")) and path.suffix == ".parquet":
            parts.append(path)
        else:  # sums and marks of success
            path.unlink()
    for number, path in enumerate(parts):
        path.rename(folder / f"part-{number:05}.parquet")


def open_to_readers(folder: Path, mode: int) -> None:
    """Give a folder, the folders in it and its files the mode of new ones; who may read a folder may enter it."""
    for path in (*folder.rglob("*"), folder):
        path.chmod(mode | (mode & 0o444) >> 2 if path.is_dir() else mode)
