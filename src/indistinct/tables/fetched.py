"""Standard input and files at addresses are copied to private files before they are read.

Engines read a table more than once, but a pipe can be read once. The copy is a file without a name, which disappears
with the process.
"""

import glob
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from indistinct.errors import IndistinctError, InputError
from indistinct.machine.spill import NamelessFile, create_nameless, disk_errors
from indistinct.tables.addresses import STANDARD_INPUT, Remote, address_of, name_of, remote, without_credentials
from indistinct.tables.lakes import at_address, find_kind, may_hold_rows

BLOCK_BYTES = 1 << 20
# The first bytes of file types that are not text, and their suffixes.
KINDS = (
    (b"PAR1", ".parquet"),
    (b"ARROW1", ".arrow"),
    (b"\xff\xff\xff\xff", ".arrow"),
    (b"PK\x03\x04", ".xlsx"),
    (b"$FL2", ".sav"),
    (b"$FL3", ".zsav"),
    (b"<stata_dta>", ".dta"),
    (b"HEADER RECORD*******", ".xpt"),
    (b"\x1f\x8b", ".csv.gz"),
)
STANDARD = "standard input"

# The copies of this process, by their origin and its state.
_COPIES: dict[str, tuple[Any, NamelessFile]] = {}


def fetch_files(source: str | Path) -> tuple[Path, ...] | None:
    """Return copies of the files of standard input or an address, by name; None for a path.

    A copy is made once, and again when the file at the address changes.
    """
    if str(source) == STANDARD_INPUT:
        return (_standard_input(),)
    address = address_of(source)
    if address is None:
        return None
    found = remote(address)
    with _translate_errors(address):
        _refuse_lake(found, [found.path])
        files = _list_files(found, address)
        _refuse_lake(found, filter(may_hold_rows, files))
        return tuple(_copy_file(address, found._replace(path=each)) for each in files)


def origin_of(path: Path) -> str | None:
    """Return the origin of a copied file, None for other files.

    An address has its credentials and must not be shown.
    """
    return next((origin for origin, (_, copy) in _COPIES.items() if copy.path == path), None)


def keep_copy(origin: str, state: Any, *, name: str, write: Callable[[Path], None]) -> Path:
    """Return the private copy of an origin that `write` makes; it is made again if the origin's state changes."""
    known = _COPIES.get(origin)
    if known is not None and known[0] == state and known[1].path.exists():
        return known[1].path
    copy = create_nameless(name)
    try:
        write(copy.path)
    except BaseException:
        copy.close()
        raise
    _COPIES[origin] = (state, copy)
    return copy.path


@contextmanager
def named_as_given() -> Iterator[None]:
    """Make errors name the address or standard input instead of the copy that was read."""
    try:
        yield
    except IndistinctError as error:
        for origin, (_, copy) in _COPIES.items():
            path = str(copy.path)
            if path in error.message or path in (error.hint or ""):
                error.message = error.message.replace(path, without_credentials(origin))
                error.hint = error.hint and error.hint.replace(path, without_credentials(origin))
                error.args = (error.message,)
        raise


def _standard_input() -> Path:
    if STANDARD in _COPIES:
        return _COPIES[STANDARD][1].path
    stream = getattr(sys.stdin, "buffer", None)
    if stream is None or sys.stdin.isatty():
        raise InputError(
            "standard input (`-`) is empty",
            hint="pipe a file into the command: cat table.csv | indistinct …",
        )
    first = stream.read(BLOCK_BYTES)
    if not first:
        raise InputError("standard input is empty", hint="check what is piped into the command")
    suffix = next((suffix for mark, suffix in KINDS if first.startswith(mark)), ".csv")
    _COPIES[STANDARD] = (None, _copy(chain([first], iter(partial(stream.read, BLOCK_BYTES), b"")), f"table{suffix}"))
    return _COPIES[STANDARD][1].path


def _copy(blocks: Iterable[bytes], name: str) -> NamelessFile:
    """Return a file without a name with the content of some blocks; the suffix of `name` gives its format."""
    copy = create_nameless(name)
    try:
        for block in blocks:
            content = memoryview(block)
            with disk_errors():
                while content:
                    content = content[copy.file.write(content) :]
    except BaseException:
        copy.close()
        raise
    return copy


def _list_files(found: Remote, address: str) -> list[str]:
    """Return the files of an address: a single file, those of a folder, or those that match a pattern."""
    system, path = found
    if glob.has_magic(path) and not system.exists(path):
        files = sorted(each for each in system.glob(path) if system.isfile(each))
    elif system.isfile(path):
        return [path]
    elif system.isdir(path):
        inside = sorted(each for each in system.ls(path, detail=False) if system.isfile(each))
        files = [each for each in inside if not each.rpartition("/")[2].startswith((".", "_"))]
    else:
        raise InputError(f"there is no file {without_credentials(address)}", hint="check the address")
    if not files:
        raise InputError(f"{without_credentials(address)} has no file", hint="check the address")
    return files


def _refuse_lake(found: Remote, paths: Iterable[str]) -> None:
    """Raise `InputError` if paths lead to or into the folder of a Delta, Iceberg or Hudi table.

    Folders of a website cannot be listed.
    """
    system = found.system
    if not {"http", "https"}.isdisjoint((system.protocol,) if isinstance(system.protocol, str) else system.protocol):
        return
    parts = [path.split("/") for path in paths]
    for folder in sorted({"/".join(each[:count]) for each in parts for count in range(1, len(each) + 1)} - {""}):
        kind = find_kind(partial(_is_there, system, folder), partial(_names_in, system, folder))
        if kind is not None:
            raise at_address(without_credentials(str(system.unstrip_protocol(folder))), kind)


def _is_there(system: Any, folder: str, name: str) -> bool:
    return bool(system.exists(f"{folder}/{name}"))


def _names_in(system: Any, folder: str, name: str) -> Iterable[str]:
    return list(system.ls(f"{folder}/{name}", detail=False))


def _copy_file(address: str, found: Remote) -> Path:
    system, path = found
    single = name_of(address) == path.rpartition("/")[2]
    origin = address if single else str(system.unstrip_protocol(path))
    state = system.ukey(path)
    known = _COPIES.get(origin)
    if known is not None and known[0] == state and known[1].path.exists():
        return known[1].path
    with system.open(path, "rb") as opened:
        copy = _copy(iter(partial(opened.read, BLOCK_BYTES), b""), name_of(origin) or "table")
    if known is not None:
        known[1].close()
    _COPIES[origin] = (state, copy)
    return copy.path


@contextmanager
def _translate_errors(address: str) -> Iterator[None]:
    """Raise errors with our own message where a file cannot be read; other messages may quote a password."""
    try:
        yield
    except (IndistinctError, MemoryError):
        raise
    except FileNotFoundError:
        raise InputError(f"there is no file {without_credentials(address)}", hint="check the address") from None
    except Exception:  # noqa: BLE001 (every file system has its own errors)
        raise InputError(
            f"{without_credentials(address)} cannot be read", hint="check the address, and what it needs to let you in"
        ) from None
