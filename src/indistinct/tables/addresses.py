"""Where inputs are: ordinary files, standard input, and addresses such as s3://bucket/table.csv, also of releases.

An address may contain a password or a token, so messages show it without. Engines read a table more than once, and a
pipe can be read once: it is copied into a file without a name, which disappears with the process.
"""

import errno
import glob
import re
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from indistinct.errors import IndistinctError, InputError, MissingExtraError, ParameterError
from indistinct.machine.spill import NamelessFile, create_nameless, disk_errors
from indistinct.tables.lakes import at_address, find_kind, may_hold_rows

STANDARD_INPUT = "-"
"""The path that means standard input."""

SCHEME = re.compile(r"((?:[A-Za-z0-9_]+::)*[A-Za-z][A-Za-z0-9+.-]+):/{1,3}(?=[^/])")
# Schemes whose addresses begin with the root directory of a disk.
ON_DISK = ("file", "local")
# Further schemes of fsspec that are no place for a table: they wrap others, or run code.
REFUSED = ("reference", "dask", "generic", "filecache", "simplecache", "blockcache", "cached", "dir", "async_wrapper")
# Databases, whose tables are opened by name.
DATABASES = ("postgresql", "postgres", "mysql", "sqlite", "duckdb", "mssql", "oracle", "jdbc")


class Remote(NamedTuple):
    """A file system of fsspec, and a path in it."""

    system: Any
    path: str


def address_of(place: object) -> str | None:
    """Return the address in a path or text, also if `Path` removed one of its slashes; None for anything else.

    >>> address_of(Path("s3://bucket/a.csv")), address_of("folder/a.csv"), address_of("C:/a.csv")
    ('s3://bucket/a.csv', None, None)
    """
    text = str(place)
    match = SCHEME.match(text)
    if match is None:
        return None
    scheme = match[1]
    return f"{scheme}://{'/' if scheme.lower() in ON_DISK else ''}{text[match.end() :]}"


def is_elsewhere(place: str | Path) -> bool:
    """Return whether a table is not on this machine's disk: at an address, or standard input.

    >>> is_elsewhere("-"), is_elsewhere("s3://bucket/a.csv"), is_elsewhere("a.csv")
    (True, True, False)
    """
    return str(place) == STANDARD_INPUT or address_of(place) is not None


def scheme_of(address: str) -> str:
    """Return the scheme of an address.

    >>> scheme_of("S3://bucket/a.csv")
    's3'
    """
    return address.partition("://")[0].lower()


def without_credentials(place: str | Path) -> str:
    """Return an address without user, password, query and fragment, for messages.

    >>> without_credentials("https://ann:secret@host/a.csv?token=t"), without_credentials("folder/a.csv")
    ('https://***@host/a.csv?***', 'folder/a.csv')
    """
    address = address_of(place)
    if address is None:
        return str(place)
    scheme, _, rest = address.partition("://")
    plain, mark, _ = rest.partition("#")
    body, query, _ = plain.partition("?")
    # A password may contain a bare slash or question mark, so everything before the last @ is hidden.
    _, at, behind = rest.rpartition("@")
    if at:
        behind = re.split("[?#]", behind, maxsplit=1)[0]
        return f"{scheme}://***@{behind}" + ("?***" if query or mark else "")
    return f"{scheme}://{body}" + ("?***" if query or mark else "")


def name_of(address: str) -> str:
    """Return the file name in an address; its suffix determines how the file is read.

    >>> name_of("https://host/folder/a.csv?token=x/y.parquet")
    'a.csv'
    """
    path = re.split("[?#]", address.partition("://")[2], maxsplit=1)[0]
    return path.rstrip("/").rpartition("/")[2]


def remote(address: str) -> Remote:
    """Return the file system of an address; raise an error that names the scheme where there is none.

    fsspec's messages are not repeated, because they may quote the address.
    """
    scheme = scheme_of(address)
    if scheme in DATABASES:
        raise InputError(
            f"a file has a path; got an address that begins with {scheme}://",
            hint='of a database, name the table: ind.open(address, table="schema.name"), or --table',
        )
    try:
        import fsspec  # type: ignore[import-untyped]
    except ImportError:
        raise MissingExtraError("fsspec", extra="cloud", purpose=f"an address that begins with {scheme}://") from None
    known = sorted(set(fsspec.available_protocols()) - set(REFUSED))
    if scheme not in known or "::" in address:
        raise ParameterError(
            f"the scheme {scheme}:// is not known" if "::" not in address else "an address with :: in it is not read",
            hint="known are, among others, s3://, gs://, abfs://, https://, sftp:// and memory://; a file has a path",
        )
    try:
        system, path = fsspec.core.url_to_fs(address)
    except ImportError:
        raise InputError(
            f"addresses that begin with {scheme}:// need a further package, which is not installed",
            hint=f"install what fsspec needs for {scheme}://, such as s3fs, gcsfs, adlfs, or aiohttp and requests",
        ) from None
    except Exception:  # noqa: BLE001 (every file system has its own errors)
        raise InputError(
            f"{without_credentials(address)} cannot be reached",
            hint="check the address, and what it needs to let you in",
        ) from None
    return Remote(system, path)


BLOCK = 1 << 20
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
    target = remote(address)
    with _translate_errors(address):
        _refuse_lake(target, [target.path])
        files = _list_files(target, address)
        _refuse_lake(target, filter(may_hold_rows, files))
        return tuple(_copy_file(address, target._replace(path=each)) for each in files)


def origin_of(path: Path) -> str | None:
    """Return the address from which a temporary copy was made, None for a file that is not a copy.

    The address contains credentials: never show it.
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
    """Copy standard input to a temporary file, once; raise if it is empty."""
    if STANDARD in _COPIES:
        return _COPIES[STANDARD][1].path
    stream = getattr(sys.stdin, "buffer", None)
    if stream is None or sys.stdin.isatty():
        raise InputError(
            "standard input (`-`) is empty",
            hint="pipe a file into the command: cat table.csv | indistinct …",
        )
    first = stream.read(BLOCK)
    if not first:
        raise InputError("standard input is empty", hint="check what is piped into the command")
    suffix = next((suffix for mark, suffix in KINDS if first.startswith(mark)), ".csv")
    _COPIES[STANDARD] = (None, _copy(chain([first], iter(partial(stream.read, BLOCK), b"")), f"table{suffix}"))
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


def _list_files(target: Remote, address: str) -> list[str]:
    """Return the files of an address: a single file, those of a folder, or those that match a pattern."""
    system, path = target
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


def _refuse_lake(target: Remote, paths: Iterable[str]) -> None:
    """Raise `InputError` if paths lead to or into the folder of a Delta, Iceberg or Hudi table.

    Folders of a website cannot be listed.
    """
    system = target.system
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


def _copy_file(address: str, target: Remote) -> Path:
    """Download a file to a temporary copy, unless an equal one exists."""
    system, path = target
    single = name_of(address) == path.rpartition("/")[2]
    origin = address if single else str(system.unstrip_protocol(path))
    state = system.ukey(path)
    known = _COPIES.get(origin)
    if known is not None and known[0] == state and known[1].path.exists():
        return known[1].path
    with system.open(path, "rb") as opened:
        copy = _copy(iter(partial(opened.read, BLOCK), b""), name_of(origin) or "table")
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


# Upper limit of bytes: larger than any recoding, hierarchy or policy.
MAX_BYTES = 1 << 30


# A text that looks like the address of a database but is none.
SECRETS = re.compile(r":[^/]*@|://|:/[^/].*@|password", re.IGNORECASE)


def looks_like_an_address(text: str) -> bool:
    """Return whether a text that is not an existing path looks like the address of a database."""
    return SECRETS.search(text) is not None


def no_file(path: str | Path) -> InputError:
    """Return the error of a path that does not exist.

    A text that looks like the address of a database is not shown, because it may contain a password.

    >>> print(no_file("postgres:ann:secret@host/clinic").message)
    there is no file of that name, which looks like an address
    """
    if looks_like_an_address(str(path)):
        return InputError(
            "there is no file of that name, which looks like an address",
            hint="an address of PostgreSQL begins with postgresql://; name the table too",
        )
    return InputError(f"there is no file {path}", hint="check the path; a relative one starts at the working directory")


def no_access(path: str | Path, error: OSError) -> InputError:
    """Return the error of a file or folder that this process may not read.

    >>> print(no_access("closed/a.csv", PermissionError(13, "Permission denied")).message)
    cannot read closed/a.csv: Permission denied
    """
    return InputError(
        f"cannot read {path}: {error.strerror or 'Permission denied'}",
        hint="give a file that may be read here, or ask for access to it and to its folder",
    )


# The folders in which this process may read files named by users; None allows all.
_fence: tuple[Path, ...] | None = None
# Private copies that this process made of files that it may read.
_own: set[Path] = set()


def admit_copy(path: Path) -> None:
    """Allow this process to read a private copy that it made, wherever it is."""
    _own.add(path)


@contextmanager
def fence_reading(*folders: Path) -> Iterator[None]:
    """Restrict this process to files in some folders; links are resolved first.

    >>> with fence_reading(Path("/nowhere")):
    ...     check_ordinary(Path(__file__))
    Traceback (most recent call last):
    PermissionError: [Errno 13] it lies outside the folders that may be read here
    """
    global _fence  # noqa: PLW0603 (what a process may read is one thing for all its threads)
    before, _fence = _fence, tuple(folder.resolve() for folder in folders)
    try:
        yield
    finally:
        _fence = before


def check_ordinary(path: Path) -> None:
    """Raise `OSError`, with the reason as `strerror`, unless a path is an ordinary file."""
    if "\0" in str(path):
        raise FileNotFoundError(errno.ENOENT, "its path has a NUL character, which no file can have")
    if _fence is not None and path not in _own:
        resolved = path.resolve()
        if not any(resolved.is_relative_to(folder) for folder in _fence):
            raise PermissionError(errno.EACCES, "it lies outside the folders that may be read here")
    mode = path.stat().st_mode
    if stat.S_ISREG(mode):
        return
    kinds = {stat.S_IFDIR: "a directory", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}
    raise OSError(errno.EINVAL, f"it is {kinds.get(stat.S_IFMT(mode), 'a device')}, not a file")


def read_ordinary(path: Path, *, most: int = MAX_BYTES) -> bytes:
    """Return the content of an ordinary file; raise `OSError`, with the reason as `strerror`, for any other.

    >>> read_ordinary(Path("."))
    Traceback (most recent call last):
    OSError: [Errno 22] it is a directory, not a file
    """
    check_ordinary(path)
    if path.stat().st_size > most:
        raise OSError(errno.EFBIG, f"it is larger than {most >> 20} MB")
    return path.read_bytes()
