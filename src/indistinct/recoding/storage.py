"""Recodings in files: a JSON document and, for large ones, an Arrow file next to it with all arrays.

The law of change: a kind never changes its meaning and no field is ever reused; new kinds and new optional fields may
appear, and then `VERSION` grows. Versions from `OLDEST` on stay readable. A file may have been changed, so its content
is checked before it is used.
"""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass, replace
from functools import partial
from itertools import repeat
from pathlib import Path
from types import UnionType
from typing import Any, Literal, NoReturn, get_args, get_origin

import numpy as np
import pyarrow as pa

from indistinct.errors import HierarchyError, InputError, ParameterError
from indistinct.hierarchy.registry import hierarchy_from_json
from indistinct.hierarchy.value import Hierarchy
from indistinct.machine.arrays import Codes, empty_large
from indistinct.recoding.kinds import ByBucket, ByCell, ByColumn, ByPart, ByRegion, ByRow, Recoding, parts_of
from indistinct.recoding.stored_parts import PartStore
from indistinct.recoding.validation import check_recoding
from indistinct.tables.addresses import check_ordinary, read_ordinary

FORMAT, OLDEST, VERSION = "indistinct-recoding", 3, 10
KINDS: Mapping[str, type[Recoding]] = {
    "by-column": ByColumn,
    "by-region": ByRegion,
    "by-cell": ByCell,
    "by-row": ByRow,
    "by-bucket": ByBucket,
    "by-part": ByPart,
}
NAMES = {kind: name for name, kind in KINDS.items()}
ARROW = ".arrow"
"""What the name of the second file has more than that of the first."""
# From this number of numbers and values on, an Arrow file is faster than text.
LARGE = 100_000
UNREADABLE = (
    *(KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError, RecursionError, MemoryError),
    pa.ArrowException,
)
"""What reading a document raises that indistinct did not write; `OSError` is a matter of the disk."""


def recoding_to_json(recoding: Recoding) -> str:
    """Return a recoding as one JSON document. It holds original values: keep it as safe as the table."""
    return _text(_plain(recoding, None))


def recoding_from_json(text: str) -> Recoding:
    """Build the recoding that `recoding_to_json` wrote; raise `InputError` for anything else."""
    return _read(text, lambda: _refuse("its arrays are in a second file", hint="read it from its path: read_recoding"))


def files_of_recoding(recoding: Recoding, path: str | Path) -> dict[Path, Callable[[Path], None]]:
    """Return the one or two files of a recoding: where each goes, and the function that fills it.

    They hold original values: only their owner may read them.
    """
    if isinstance(recoding, ByPart):
        _store_of(recoding)
        return files_of_parts(lambda: recoding, path)
    arrays = [part for _, part in parts_of(recoding) if isinstance(part, np.ndarray | pa.Array)]
    if sum(array.size if isinstance(array, np.ndarray) else len(array) for array in arrays) <= LARGE:
        return {Path(path): partial(_fill, recoding_to_json(recoding).encode())}
    arrays = []
    document = _plain(recoding, arrays)
    content = _arrow_file(arrays)
    text = _text({"arrow": hashlib.sha256(content).hexdigest(), **document})
    return {Path(path): partial(_fill, text.encode()), arrays_path(path): partial(_fill, content)}


def files_of_parts(made: Callable[[], ByPart], path: str | Path) -> dict[Path, Callable[[Path], None]]:
    """Return the two files of a recoding by parts, which is made when they are filled."""

    def fill(path: Path) -> None:
        content = made()
        store = _store_of(content)
        document = {"arrow": store.digest(), **_plain(replace(content, store=None, parts=store.parts), None)}
        path.write_text(_text(document), encoding="utf-8")

    return {Path(path): fill, arrays_path(path): lambda place: _store_of(made()).copy_to(place)}


def _store_of(recoding: ByPart) -> PartStore:
    """Return the stored parts of a recoding; raise if they were not kept."""
    if recoding.store is None:
        _refuse(
            "the parts of this recoding were not kept, because they were not asked for when the release was made",
            hint="say where the recoding goes (save_recoding, --save-recoding) when the release is made",
        )
    return recoding.store


def read_recoding(path: str | Path) -> Recoding:
    """Return the recoding that was written to a path; raise `InputError` unless it is whole and consistent."""
    try:
        return _read_at(path)
    except InputError as error:
        if str(path) in error.message:
            raise
        raise InputError(f"{path}: {error.message}", hint=error.hint) from None


def _read_at(path: str | Path) -> Recoding:
    """Read a recoding from a file, with its second file if it has one."""
    try:
        text = _bytes_of(Path(path)).decode()
    except UnicodeDecodeError:
        raise InputError(f"{path} is not a recoding", hint="it must be a file that indistinct wrote") from None
    if _is_by_part(text):
        return _read_parts(text, arrays_path(path))
    return _read(text, lambda: _bytes_of(arrays_path(path)))


def _is_by_part(text: str) -> bool:
    try:
        return bool(json.loads(text)["kind"] == "by-part")
    except (*UNREADABLE,):
        return False


def _read_parts(text: str, path: Path) -> Recoding:
    """Return a recoding whose parts stay on disk; their file is kept open, so that it cannot be replaced."""
    recoding, named = _read(text, lambda: b""), json.loads(text)["arrow"]
    if not isinstance(recoding, ByPart):
        raise AssertionError("what says that it is by parts is")
    try:
        store = PartStore.open(path, parts=recoding.parts, columns=len(recoding.quasi))
        same = store.digest() == named
    except OSError as error:
        raise InputError(
            f"cannot read the recoding {path}: {error.strerror or 'unreadable'}",
            hint=f"check the path; a large recoding is two files, the second with {ARROW} behind its name",
        ) from None
    if not same:
        _refuse("the two files of the recoding do not belong together", hint="keep them as they were written")
    return replace(recoding, store=store)


def recoding_of(given: Recoding | str | Path) -> Recoding:
    """Return a recoding unchanged, or read it from a path."""
    return given if isinstance(given, Recoding) else read_recoding(given)


def arrays_path(path: str | Path) -> Path:
    """Return the path of the arrays of a large recoding.

    >>> arrays_path("recoding.json").name
    'recoding.json.arrow'
    """
    return Path(f"{Path(path)}{ARROW}")


def second_file(path: str | Path) -> Path | None:
    """Return the file with the arrays of the recoding at a path, None if there is no such recoding or no such file."""
    try:
        named, beside = json.loads(read_ordinary(Path(path)))["arrow"], arrays_path(path)
        check_ordinary(beside)
        with beside.open("rb") as file:  # parts may be larger than memory
            return beside if hashlib.file_digest(file, "sha256").hexdigest() == named else None
    except (*UNREADABLE, OSError):
        return None


def _bytes_of(path: Path) -> bytes:
    """Read an ordinary file; raise `InputError` if it cannot be read."""
    try:
        return read_ordinary(path)
    except FileNotFoundError:
        if path.name.endswith(ARROW):
            raise InputError(
                f"the second file of the recoding, {path}, is missing",
                hint="keep both files of a large recoding together",
            ) from None
        raise InputError(
            f"there is no recoding {path}",
            hint="check the path; `anonymize` with --save-recoding (write_recoding in Python) writes one",
        ) from None
    except OSError as error:
        raise InputError(
            f"cannot read the recoding {path}: {error.strerror or 'unreadable'}",
            hint=f"check the path; a large recoding is two files, the second with {ARROW} behind its name",
        ) from None


def _fill(content: bytes, path: Path) -> None:
    path.write_bytes(content)


def _text(document: Mapping[str, Any]) -> str:
    return json.dumps({"format": FORMAT, "version": VERSION, **document}, ensure_ascii=False, allow_nan=False)


def _plain(value: Any, arrays: list[pa.Array] | None) -> Any:
    """Return a dataclass as JSON has it; with `arrays` the content of arrays goes there."""
    match value:
        case np.ndarray():
            flat = pa.array(value.ravel())
            return {"shape": list(value.shape), **_content(flat, flat.to_pylist, arrays)}
        case pa.Array():
            return _content(value, value.cast(pa.string()).to_pylist, arrays)
        case Hierarchy():
            return value.to_json()
        case Mapping():
            return {key: _plain(each, arrays) for key, each in value.items()}
        case tuple() | list():
            return [_plain(each, arrays) for each in value]
    if not is_dataclass(value):
        return value
    kind = {"kind": NAMES[type(value)]} if isinstance(value, Recoding) else {}
    return {**kind, **{name: _plain(getattr(value, name), arrays) for name in _stored_fields(value)}}


def _stored_fields(kind: Any) -> dict[str, Field[Any]]:
    """Return the fields of a dataclass that are stored, by name."""
    return {field.name: field for field in fields(kind) if field.metadata.get("stored", True)}


def _content(array: pa.Array, listed: Callable[[], list[Any]], arrays: list[pa.Array] | None) -> dict[str, Any]:
    """Store an array as a JSON list, or append it to the arrays of the second file."""
    if arrays is None:
        return {"type": str(array.type), "values": listed()}
    arrays.append(array)
    return {"array": len(arrays) - 1}


def _arrow_file(arrays: Sequence[pa.Array]) -> pa.Buffer:
    """Return an Arrow file of one row, whose cells are the arrays."""
    cells = [pa.LargeListArray.from_arrays(pa.array([0, len(array)], pa.int64()), array) for array in arrays]
    batch = pa.record_batch(cells, names=[str(index) for index in range(len(cells))])
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, batch.schema, options=pa.ipc.IpcWriteOptions(compression="lz4")) as file:
        file.write_batch(batch)
    return sink.getvalue()


def _arrays(content: bytes) -> list[pa.Array]:
    """Read the arrays of the second file."""
    with pa.ipc.open_file(pa.py_buffer(content)) as file:
        (batch,) = (file.get_batch(index) for index in range(file.num_record_batches))
    batch.validate(full=True)
    return [cells.flatten() for cells in batch.columns if cells.null_count == 0]


def _read(text: str, second: Callable[[], bytes]) -> Recoding:
    """Parse a recoding; `second` reads the second file if the arrays are there."""
    try:
        data = json.loads(text, parse_constant=_refuse_constant)
        if data["format"] != FORMAT or type(data["version"]) is not int or not OLDEST <= data["version"] <= VERSION:
            raise InputError(
                "this is not a recoding that this version can read",
                hint=f"expected format {FORMAT!r} with version {OLDEST} to {VERSION}",
            )
        arrays: list[pa.Array] = []
        if "arrow" in data and data["kind"] != "by-part":
            content = second()
            if hashlib.sha256(content).hexdigest() != data["arrow"]:
                _refuse("the two files of the recoding do not belong together", hint="keep them as they were written")
            arrays = _arrays(content)
        head = ("format", "version", "arrow")
        recoding: Recoding = _value(Recoding, {key: data[key] for key in data if key not in head}, arrays)
    except (
        *UNREADABLE,
        ParameterError,
        OSError,
    ):  # the bytes are read already: Arrow says of broken ones that they cannot be
        _refuse(
            "this is not a saved recoding, or it was changed",
            hint="give the file that --save-recoding wrote (write_recoding in Python); a policy goes to "
            "`indistinct anonymize`",
        )
    check_recoding(recoding)
    return recoding


def _refuse(message: str, *, hint: str) -> NoReturn:
    raise InputError(message, hint=hint) from None


def _refuse_constant(_text: str) -> NoReturn:
    raise ValueError("NaN and infinity are no JSON")


def _value(kind: Any, data: Any, arrays: Sequence[pa.Array]) -> Any:
    """Return stored data as a value of a type; raise if it is none.

    The types are those that the fields of recodings declare.
    """
    origin, inner = get_origin(kind), get_args(kind)
    if type(None) in inner:
        return None if data is None else _value(inner[0], data, arrays)
    if origin is UnionType:  # a number or a text
        return _scalar(str if isinstance(data, str) else inner[0], data)
    if origin is np.ndarray:
        return _numbers(data, arrays)
    if kind is pa.Array:
        return _element(data, arrays) if "array" in data else _from_texts(data["values"], data["type"])
    if kind is Hierarchy:
        return _hierarchy(data)
    if kind is Recoding:
        kind = KINDS[data["kind"]]
        data = {key: data[key] for key in data if key != "kind"}
    if is_dataclass(kind):
        return _instance(kind, data, arrays)
    if origin is Mapping:
        return {key: _value(inner[1], each, arrays) for key, each in data.items()}
    if origin in (tuple, Sequence):
        fixed = origin is tuple and inner[-1] is not Ellipsis
        if not isinstance(data, list) or (fixed and len(data) != len(inner)):
            raise TypeError("a list is wanted")
        return tuple(
            _value(each, part, arrays)
            for each, part in zip(inner if fixed else repeat(inner[0], len(data)), data, strict=True)
        )
    return _scalar(kind, data)


def _hierarchy(data: Any) -> Hierarchy:
    """Return a stored declaration; one that leads to a file was not written by us."""
    if not isinstance(data, dict) or "file" in data:
        raise TypeError("a declaration is wanted")
    try:
        return hierarchy_from_json(data, base=Path())
    except HierarchyError:
        raise ValueError("this is no hierarchy") from None


def _instance(kind: Any, data: Mapping[str, Any], arrays: Sequence[pa.Array]) -> Any:
    """Build a dataclass from stored fields; raise unless they are exactly those of this version."""
    known = _stored_fields(kind)
    needed = {name for name, field in known.items() if field.default is MISSING and field.default_factory is MISSING}
    if not needed <= data.keys() <= known.keys():
        raise KeyError("the fields are not those of this version")
    return kind(**{key: _value(known[key].type, each, arrays) for key, each in data.items()})


def _scalar(kind: Any, data: Any) -> Any:
    """Check and return a stored scalar: a number, a text, a truth value or a known word."""
    if get_origin(kind) is Literal:
        if data not in get_args(kind):
            raise ValueError("this word is not known")
        return data
    if kind is float and type(data) is int:
        return float(data)
    if type(data) is not kind:
        raise TypeError("another type is wanted")
    if kind is str:
        data.encode()  # half a character is none
    return data


def _numbers(data: Mapping[str, Any], arrays: Sequence[pa.Array]) -> Codes:
    """Return a stored array of numbers in its shape."""
    shape = data["shape"]
    if not shape or any(type(each) is not int or each < 0 for each in shape):
        raise ValueError("a shape is some lengths")
    array = _element(data, arrays) if "array" in data else _from_numbers(data["values"], data["type"])
    if array.null_count:
        raise ValueError("a number is missing")
    # Compiled loops are made for arrays that can be written to; for others they would be compiled once more.
    numbers = array.to_numpy(zero_copy_only=False)
    own = empty_large(len(numbers), numbers.dtype)
    own[:] = numbers
    return own.reshape(shape)


def _element(data: Mapping[str, Any], arrays: Sequence[pa.Array]) -> pa.Array:
    """Return the stored array that a number refers to."""
    if type(data["array"]) is not int or data["array"] < 0:
        raise IndexError("arrays are numbered from 0")
    return arrays[data["array"]]


def _from_numbers(values: Any, kind: str) -> pa.Array:
    """Convert a JSON list to an Arrow array; raise for other types of numbers."""
    arrow = pa.type_for_alias(kind)
    allowed = {bool} if pa.types.is_boolean(arrow) else {int} if pa.types.is_integer(arrow) else {int, float}
    if not isinstance(values, list) or not set(map(type, values)) <= allowed:
        raise TypeError(f"numbers of type {kind} are wanted")
    return pa.array(values, arrow)


def _from_texts(texts: Any, kind: str) -> pa.Array:
    """Return values that were written as text in the Arrow type of that name."""
    if not isinstance(texts, list):
        raise TypeError("a list of texts is wanted")
    name, _, digits = kind.removesuffix(")").partition("(")
    make = {"decimal128": pa.decimal128, "decimal256": pa.decimal256}.get(name)
    arrow = pa.type_for_alias(kind) if make is None else make(*(int(each) for each in digits.split(", ")))
    return pa.array(texts, pa.string()).cast(arrow)
