"""How much memory a table may take, and errors that say which step needed how much and what helps.

A small file may contain a large table: `Allowance` is the single rule for all readers, which estimate the memory before
they allocate it. Steps of a run are marked with `needs_memory`; the innermost one that fails is named, whichever
library failed.
"""

import ctypes
import errno
import functools
import gc
import os
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

from indistinct.errors import OutOfMemoryError, ParameterError

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

# Bounds of what a caller may state, in bytes.
LARGEST_MEMORY = 10**18
SMALLEST_MEMORY = 200 * 10**6
BYTES_OF_UNIT = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
MEGABYTE = 1 << 20
# Address space for compiled libraries, which are mapped whole, and for the stack of each thread: with less, some
# libraries crash the process.
BYTES_OF_LIBRARIES, BYTES_PER_CORE = 900 * MEGABYTE, 80 * MEGABYTE
# Messages of libraries that get no memory or no thread, and further ones under a limit of address space.
SHORT_OF_MEMORY = (
    "cannot allocate memory", "can't start new thread", "failed to map segment", "failed to launch worker thread",
)  # fmt: skip
SHORT_OF_ADDRESSES = ("resource temporarily unavailable", "load shared object", "out of memory", "failed to allocate")
# Files of a control group, versions 2 and 1: the limit, the usage, and the cached part of it.
GROUP = ("memory.max", "memory.current", "inactive_file")
OLD_GROUP = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
UNLIMITED_BYTES = 1 << 60
HINTS = {
    "reading": "save only the columns that are used, or save the table as Parquet, which takes less than text",
    "counting": "leave out quasi-identifiers, or give those with many values a coarser hierarchy",
    "searching": "leave out quasi-identifiers, or choose a search that keeps less: mondrian or datafly",
    "measuring": "measure fewer metrics: they are listed under [measure] of a policy",
}
OTHERWISE = "publish fewer columns, or write Parquet, which takes less than text"
THREADS = "INDISTINCT_THREADS=1 takes less at once"
# A table may take this many times the size of its files, plus this many bytes.
ALLOWED_TIMES_FILE_SIZE, ALLOWED_BYTES_AT_LEAST = 10, 2 << 30
MORE = 'if it is what it should be, allow more memory (--memory 8GB, where a command takes it; memory="8GB" in Python)'
# Bytes per row for counting and inspecting a table, and the number of further copies of the table.
BYTES_PER_ROW, COPIES_PER_TABLE = 70, 4 / 3


def needed_for(rows: int, size: int) -> int:
    """Return the approximate number of bytes for inspecting a table whose columns take `size` bytes."""
    return int(COPIES_PER_TABLE * size) + BYTES_PER_ROW * rows


def rows_words(rows: int, columns: int) -> str:
    """Return the size of a table in words.

    >>> rows_words(1000, 2)
    '1,000 rows of 2 columns'
    """
    return f"{rows:,} rows of {columns:,} columns"


# From this number of rows on, freed memory is returned to the system.
MIN_ROWS_TO_TRIM = 1 << 18


@dataclass(frozen=True, slots=True)
class Allowance:
    """The bytes that reading and counting a table may take: as allowed, or in proportion to its files.

    >>> Allowance(1000).most - Allowance(0).most
    10000
    """

    size: int
    memory: int | None = None

    @classmethod
    def of(cls, files: Iterable[Path], memory: int | None = None) -> "Allowance":
        """Return the allowance of files that are one table."""
        return cls(sum(path.stat().st_size for path in files), memory)

    @property
    def most(self) -> int:
        """The largest number of bytes."""
        return ALLOWED_TIMES_FILE_SIZE * self.size + ALLOWED_BYTES_AT_LEAST if self.memory is None else self.memory

    def require(self, needed: int, named: str, holds: str, *, otherwise: str) -> None:
        """Raise `OutOfMemoryError` if a table needs more; the message says what it `holds` and what else helps."""
        if needed <= self.most:
            return
        rule = "are allowed" if self.memory is not None else f"are taken for a file of {_megabytes(self.size)}"
        raise OutOfMemoryError(
            f"{named} holds {holds}: that takes {_megabytes(needed)} of memory or more, and at most "
            f"{_megabytes(self.most)} {rule}",
            hint=f"{MORE}, or {otherwise}",
            needed=needed,
            most=self.most,
        )


def give_memory_back(rows: int) -> None:
    """Return free memory to the system, because allocators keep the memory of one stage while the next needs more.

    A stage on few rows needs little, and returning it would take longer than the stage.
    """
    if rows < MIN_ROWS_TO_TRIM:
        return
    import pyarrow as pa  # commands without a table do not import it

    gc.collect()  # objects in reference cycles may contain large arrays
    pa.default_memory_pool().release_unused()
    trim = _trimmer()
    if trim is not None:
        trim(0)


@functools.cache
def _trimmer() -> Callable[[int], int] | None:
    """Return the C library's function that returns free memory, None if it has none."""
    try:
        return cast("Callable[[int], int]", ctypes.CDLL(None).malloc_trim)
    except (AttributeError, OSError, TypeError):
        return None


def needs_memory(step: str) -> Callable[[Callable[Arguments, Result]], Callable[Arguments, Result]]:
    """Decorate a function as a step such as "reading the table"; memory errors become `OutOfMemoryError`.

    >>> needs_memory("reading the table")(len)("abc")
    3
    """

    def mark(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
        @functools.wraps(function)
        def run(*arguments: Arguments.args, **options: Arguments.kwargs) -> Result:
            """Call the function; raise `OutOfMemoryError` if memory does not suffice."""
            try:
                return function(*arguments, **options)
            except OutOfMemoryError:
                raise
            except (MemoryError, OSError, RuntimeError, SystemError, ImportError) as error:
                if not is_memory(error):
                    raise
                wanted, size = wanted_bytes(error), _size_of((*arguments, *options.values()))
            # raised outside the handler, so that the memory of the failed step is free again
            raise out_of_memory(step, wanted, size)

        return run

    return mark


def is_memory(error: BaseException) -> bool:
    """Return whether an error means that memory, or a thread for lack of memory, was not available."""
    if isinstance(error, MemoryError) or getattr(error, "errno", None) == errno.ENOMEM:
        return True
    text = str(error).lower()
    if any(words in text for words in SHORT_OF_MEMORY):
        return True
    return address_space() is not None and any(words in text for words in SHORT_OF_ADDRESSES)


def wanted_bytes(error: BaseException) -> int | None:
    """Return the number of requested bytes, where NumPy or Arrow report it.

    >>> wanted_bytes(MemoryError("malloc of size 640 failed"))
    640
    """
    requested = getattr(error, "_total_size", None)
    if isinstance(requested, int):
        return requested
    match = re.search(r"of size (\d+)", str(error))
    return int(match[1]) if match else None


def out_of_memory(step: str, wanted: int | None = None, size: str = "") -> OutOfMemoryError:
    """Return the error of a step that needed more memory than available."""
    asked = "" if wanted is None else f": {_megabytes(wanted)} more were asked for"
    limit = address_space()
    allowed = "" if limit is None else f"; this process may use {_megabytes(limit)} of addresses (ulimit -v)"
    return OutOfMemoryError(
        f"there is not enough memory for {step}{size}{asked}{allowed}",
        hint=f"{HINTS.get(step.split()[0], OTHERWISE)}; {THREADS}",
        step=step,
        wanted=wanted,
    )


def check_address_space() -> None:
    """Raise `OutOfMemoryError` if the address space is so limited that libraries would crash while loading."""
    limit = address_space()
    needed = BYTES_OF_LIBRARIES + BYTES_PER_CORE * (os.cpu_count() or 1)
    if limit is not None and limit < needed:
        raise OutOfMemoryError(
            f"this process may use {_megabytes(limit)} of addresses (ulimit -v), and needs at least "
            f"{_megabytes(needed)} before it reads a table",
            hint="raise the limit with ulimit -v, or limit what is used (a container's memory) and not addresses",
        )


def address_space() -> int | None:
    """Return the limit of this process's address space in bytes, None if there is none."""
    try:
        import resource
    except ImportError:  # only Unix systems have such a limit
        return None
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return None if limit == resource.RLIM_INFINITY else limit


def free_bytes() -> int | None:
    """Return the free memory of this process in bytes, None if the system does not report it."""
    amounts = [each for each in (_free_in_system(), free_in_container()) if each is not None]
    return min(amounts, default=None)


def _free_in_system() -> int | None:
    """Return the free memory of the system in bytes, None if it is not reported."""
    try:
        available = re.search(r"MemAvailable:\s+(\d+) kB", Path("/proc/meminfo").read_text(encoding="ascii"))
        return 1024 * int(available[1]) if available else None
    except OSError:
        try:
            return int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES"))
        except (ValueError, OSError, AttributeError):
            return None


def free_in_container(groups: Path = Path("/sys/fs/cgroup"), own: Path = Path("/proc/self/cgroup")) -> int | None:
    """Return the memory that control groups leave to this process, None without a limit.

    Groups are nested, and the tightest one counts. Memory of cached files counts as free.
    """
    try:
        lines = [line.split(":", 2) for line in own.read_text(encoding="utf-8").splitlines()]
    except OSError:
        return None
    amounts = []
    for _, controllers, group in (line for line in lines if len(line) == 3):
        if controllers not in ("", "memory"):
            continue
        top, names = (groups / controllers, OLD_GROUP) if controllers else (groups, GROUP)
        inside = top.joinpath(*Path(group).parts[1:])
        amounts += [_left_in(folder, *names) for folder in (inside, *inside.parents) if folder.is_relative_to(top)]
    return min((each for each in amounts if each is not None), default=None)


def _left_in(group: Path, limit: str, used: str, cached: str) -> int | None:
    """Return the memory that a control group leaves, None if it has no limit."""
    try:
        most, taken = (group / limit).read_text(encoding="ascii").strip(), (group / used).read_text(encoding="ascii")
        again = re.search(rf"^{cached} (\d+)$", (group / "memory.stat").read_text(encoding="ascii"), re.MULTILINE)
    except OSError:
        return None
    if not most.isdecimal() or int(most) >= UNLIMITED_BYTES:
        return None
    return max(0, int(most) - int(taken) + (int(again[1]) if again else 0))


def _size_of(arguments: Iterable[Any]) -> str:
    """Return the size of the table among some arguments, in words."""
    for each in arguments:
        rows, columns = getattr(each, "rows", None), getattr(each, "columns", None)
        if isinstance(rows, int) and isinstance(columns, tuple):
            return f" of {rows:,} rows and {len(columns):,} columns"
    return ""


def _megabytes(size: int) -> str:
    return f"{max(1, size // MEGABYTE):,} MB"


def bytes_of(memory: str | int) -> int:
    """Return an amount of memory in bytes.

    >>> bytes_of("1GB"), bytes_of("512 MB")
    (1000000000, 512000000)
    """
    if isinstance(memory, int) and memory > LARGEST_MEMORY:
        raise _too_much_memory()
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)B?\s*", str(memory), re.IGNORECASE)
    if match is None:
        raise ParameterError(f"`memory` must be an amount such as 1GB; got {memory!r}", hint="for example 512MB or 4GB")
    wanted = float(match[1]) * BYTES_OF_UNIT[match[2].upper()]
    if wanted > LARGEST_MEMORY:
        raise _too_much_memory()
    amount = int(wanted)
    if amount < SMALLEST_MEMORY:
        raise ParameterError(
            f"`memory` must be at least {SMALLEST_MEMORY // 10**6} MB; got {memory!r}",
            hint="loading the libraries alone takes that",
        )
    return amount


def _too_much_memory() -> ParameterError:
    return ParameterError(
        f"`memory` must be at most {LARGEST_MEMORY // 10**12:,} TB; got more", hint="for example 512MB or 4GB"
    )
