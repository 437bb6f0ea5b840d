"""Pickles, read instruction by instruction and never run, because opening one runs arbitrary code."""

import pickletools
import struct
from collections.abc import Iterator
from dataclasses import dataclass

from indistinct.errors import InputError
from indistinct.exploration.scan.base import (
    FilePart,
    Finding,
    NotChecked,
    Opened,
    ScanCheck,
    ScannedFile,
    bytes_behind,
    leak,
    suspicion,
)
from indistinct.figures import plural

# Upper limit of instructions: a larger pickle is scanned up to here.
MAX_INSTRUCTIONS = 5_000_000
# Modules with which frames and arrays are rebuilt; of the built-in ones only plain values.
FRAMES = (
    "pandas",
    "numpy",
    "pyarrow",
    "polars",
    "datetime",
    "decimal",
    "collections",
    "copyreg",
    "_codecs",
    "uuid",
    "zoneinfo",
)
PLAIN = {"list", "dict", "set", "tuple", "frozenset", "bytearray", "slice", "range", "complex", "object", "int", "str"}
REBUILDS = {
    *("ndarray", "dtype", "scalar", "date", "datetime", "timedelta", "timezone", "time", "defaultdict", "deque"),
    *("encode", "type_for_alias", "py_buffer", "schema", "field", "new_block", "timestamp"),
}
BUILTIN = ("builtins", "__builtin__")
TEXTS = {"UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8", "STRING", "BINSTRING", "SHORT_BINSTRING"}
NUMBERS = {"INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4"}
PUTS, GETS = {"PUT", "BINPUT", "LONG_BINPUT", "MEMOIZE"}, {"GET", "BINGET", "LONG_BINGET"}


@dataclass(frozen=True, slots=True)
class Pickle:
    """The imports of a pickle, how its frames number their rows, and its texts."""

    imports: tuple[str, ...]
    texts: tuple[str, ...]
    calls: int
    ranges: tuple[tuple[int, int, int], ...]
    behind: int


def is_pickle(content: bytes) -> bool:
    """Return whether bytes begin as a pickle of protocol 2 or later does."""
    return len(content) > 1 and content[0] == 0x80 and 2 <= content[1] <= 5


def open_pickle(content: bytes, name: str) -> Opened:
    """Read the instructions of a pickle without running one."""
    try:
        read, whole = _read(content)
    except (ValueError, KeyError, IndexError, OverflowError, struct.error, AttributeError, TypeError):
        raise InputError(f"{name} cannot be read as a pickle", hint="check that the file was copied whole") from None
    never_run = "a pickle is not run, and its cells are known only then: publish CSV or Parquet"
    reason = f"only the first {MAX_INSTRUCTIONS:,} instructions of the pickle are read"
    unseen = () if whole else (NotChecked("the rest of the pickle", reason),)
    parts = (
        FilePart("the texts", "\n".join(read.texts).encode(errors="replace")),
        FilePart("the file", content, words=False),
    )
    return Opened("pickle", None, parts, read, not_checked=unseen, unread=(NotChecked("the cells", never_run),))


def _read(content: bytes) -> tuple[Pickle, bool]:
    """Read the instructions of a pickle without running them; return also whether it was read to its end."""
    imports: dict[str, None] = {}
    texts: dict[str, None] = {}
    memo: dict[int, str] = {}
    recent, numbers, ranges = ["", ""], [0, 0, 0], set()
    calls = end = 0
    last, whole = "", False
    for count, (code, argument, index) in enumerate(pickletools.genops(content)):
        end, whole = index or 0, code.name == "STOP"
        if count >= MAX_INSTRUCTIONS:
            break
        match code.name:
            case name if name in PUTS:  # the last object gets a number by which it is referred to
                memo[len(memo) if argument is None else int(argument)] = last
                continue
            case name if name in TEXTS or name in GETS:
                last = memo.get(int(argument or 0), "") if name in GETS else str(argument)
                recent = [recent[-1], last]
                texts.setdefault(last)
                continue
            case "GLOBAL" | "INST":
                imports.setdefault(str(argument).replace(" ", "."))
            case "STACK_GLOBAL":
                imports.setdefault(".".join(recent))
            case "REDUCE" | "BUILD" | "OBJ" | "NEWOBJ" | "NEWOBJ_EX":
                calls += 1
            case name if name in NUMBERS:
                numbers = [*numbers[-2:], int(argument or 0)]
            case "SETITEMS" if recent == ["stop", "step"]:
                ranges.add((numbers[0], numbers[1], numbers[2]))
        last = ""
    behind = len(content) - end - 1 if whole else 0
    return Pickle(tuple(imports), tuple(texts), calls, tuple(sorted(ranges)), behind), whole


def _code(subject: ScannedFile) -> Iterator[Finding]:
    """Report code that the pickle would run."""
    read: Pickle = subject.file.inside
    foreign = [name for name in read.imports if not _is_frame_code(name)]
    if foreign == ["builtins.getattr"] and "zoneinfo.ZoneInfo" in read.imports and "_unpickle" in read.texts:
        foreign = []  # this is how a time zone is rebuilt
    if foreign:
        yield leak(
            "the instructions",
            len(foreign),
            f"opening the pickle runs {plural(len(foreign), 'function')} that no table needs, of "
            f"{plural(len(_modules(foreign)), 'module')}",
            "do not open it; publish CSV, Parquet or Arrow",
        )
    yield suspicion(
        "the instructions",
        read.calls,
        f"the pickle imports {plural(len(read.imports), 'name')} and calls {plural(read.calls, 'function')} when it is "
        "opened: only open it if you trust its maker; what it stores apart from its cells is not shown",
        "publish CSV, Parquet or Arrow",
    )
    yield from bytes_behind(read.behind, "pickle")


def _modules(names: list[str]) -> set[str]:
    return {name.partition(".")[0] for name in names}


def _is_frame_code(name: str) -> bool:
    module, _, own = name.rpartition(".")
    if module in BUILTIN:
        return own in PLAIN
    return module.partition(".")[0] in FRAMES and (own.startswith("_") or own[:1].isupper() or own in REBUILDS)


def _index(subject: ScannedFile) -> Iterator[Finding]:
    """Report a stored index of a pandas frame."""
    read: Pickle = subject.file.inside
    if not any(name.endswith(".DataFrame") for name in read.imports):
        return
    counted = any(name.endswith(".RangeIndex") for name in read.imports)
    plain = counted and read.ranges and all(part[0] == 0 and part[2] == 1 for part in read.ranges)
    if plain:
        return
    yield leak(
        "the index",
        1,
        "the pickled frame has an index: the number, or the name, of each row before publishing",
        "reset the index (reset_index(drop=True)), and publish CSV or Parquet with index=False",
    )


CHECKS = (
    ScanCheck("pickle-code", "what a pickle runs when it is opened", _code, (), ("pickle",)),
    ScanCheck("pickle-index", "the index of a pickled frame", _index, (), ("pickle",)),
)
