"""Pseudonyms that are published: keyed digests, or random numbers, in place of identifiers and people.

An engine publishes the rows of a release with their identifiers, and a sink puts pseudonyms in their place before
anything is kept or written. A key comes from a file or from the environment and goes nowhere else.
"""

import hashlib
import hmac
import os
import re
import secrets
import stat
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indistinct.engines.base import Sink, Source
from indistinct.errors import InputError, ParameterError, SchemaError, did_you_mean
from indistinct.frequencies.encode import encode_column
from indistinct.machine.arrays import Codes
from indistinct.machine.randomness import Secret
from indistinct.recoding.outputs import MAIN, Assignment, OutputColumn, OutputTable
from indistinct.schema import Role, Schema
from indistinct.tables.addresses import read_ordinary
from indistinct.tables.domain import Domain

CLASSES = "classes"
"""What attackers know of the rows of a person, if not how many there are in each class."""
ROWS_UNKNOWN = "; numbers of rows not known"
"""What the kind of a pseudonym ends in where that was declared."""
SHORTEST_KEY = 16
"""Bytes of the shortest key: 128 bits."""
LONGEST_KEY = 1 << 16
FEWEST_BYTES = 5
"""Different bytes of a key; that one drawn at random has fewer does not happen."""
LOOKS = r"\A[0-9a-f]{32,}\z"
"""What a pseudonym looks like: at least 128 bits, in hexadecimal digits."""
MAKE_ONE = "make a key with `(umask 077; openssl rand -hex 32 > FILE)`, and keep it: without it months cannot be linked"
EXAMPLE = "for example --pseudonym patient=key:FILE, patient=environment:NAME or patient=random"
NO_KEY = (
    "a pseudonym needs a key: without one, as with SHA-256 alone, an attacker who hashes all possible values finds "
    "every person"
)


@dataclass(frozen=True, slots=True)
class Pseudonym:
    """What is published in place of an identifier: a digest under a key, or with `random` a number drawn afresh.

    The `key` is a file, or the `environment` variable of that name: at least 128 bits, as bytes or in hexadecimal
    digits. The same value has the same pseudonym wherever the key is the same; random numbers are the same for it
    inside one release only. There is no pseudonym without a key: attackers could compute it. With `knows="classes"`
    attackers are assumed to know in which classes a person has rows, and not how many.

        >>> Pseudonym(random=True).kind
        'random'
    """

    key: str | Path | None = None
    environment: str | None = None
    random: bool = False
    knows: str | None = None

    def __post_init__(self) -> None:
        if self.knows not in (None, CLASSES):
            raise ParameterError(
                f"`knows` must be {CLASSES!r}, or be left out; got {self.knows!r}",
                hint="it states that attackers do not know how many rows a person has in a class",
            )
        if sum([self.key is not None, self.environment is not None, self.random is True]) != 1:
            given = "several of them" if self.key or self.environment or self.random else "none"
            raise ParameterError(
                NO_KEY if given == "none" else "a pseudonym has one of `key`, `environment` and `random`; got several",
                hint=f'ind.Pseudonym(key="FILE"), ind.Pseudonym(environment="NAME") or ind.Pseudonym(random=True); '
                f"{MAKE_ONE}",
            )

    @property
    def kind(self) -> str:
        """Return the kind of the pseudonym as a certificate names it."""
        kind = "random" if self.random else "keyed"
        return kind if self.knows is None else f"{kind}{ROWS_UNKNOWN}"

    def options(self) -> Any:
        """Return the pseudonym as a policy declares it."""
        if self.random:
            return "random"
        return {"environment": self.environment} if self.key is None else {"key": Path(self.key).as_posix()}

    def secret(self, column: str, secret: Secret) -> bytes:
        """Return the key; that of random pseudonyms is drawn anew, or derived from the seed in tests."""
        if self.random:
            return new_key() if secret.seed is None else hashlib.sha256(f"{secret.seed} {column}".encode()).digest()
        return read_key(Path(self.key)) if self.key is not None else _from_environment(str(self.environment))


def pseudonym_from_options(given: Any) -> Pseudonym:
    """Return the pseudonym that a policy declares: `"random"`, `{ key = "file" }` or `{ environment = "NAME" }`."""
    if given == "random":
        return Pseudonym(random=True)
    known = ("key", "environment")
    if not isinstance(given, Mapping) or not all(isinstance(value, str) and value for value in given.values()):
        raise ParameterError(NO_KEY, hint='pseudonym = { key = "file" }, { environment = "NAME" } or "random"')
    for name in given:
        if name not in known:
            near = did_you_mean(name, known) or 'it takes { key = "file" } or { environment = "NAME" }'
            raise ParameterError(f"unknown key {name!r} of a pseudonym", hint=near, unknown=name)
    return Pseudonym(key=given.get("key"), environment=given.get("environment"))


def parse_pseudonym(text: str) -> Pseudonym:
    """Parse the pseudonym of a flag.

    >>> parse_pseudonym("environment:STUDY_KEY")
    Pseudonym(key=None, environment='STUDY_KEY', random=False, knows=None)
    """
    name, _, value = text.partition(":")
    if text == "random":
        return Pseudonym(random=True)
    if name not in ("key", "environment") or not value:
        raise ParameterError(NO_KEY, hint=EXAMPLE)
    return Pseudonym(key=value) if name == "key" else Pseudonym(environment=value)


def kinds_of(pseudonyms: Mapping[str, Pseudonym] | Sequence[str], schema: Schema) -> dict[str, str]:
    """Return the kind of pseudonym of each column, `unknown` where it is not known."""
    if isinstance(pseudonyms, Mapping):
        kinds: dict[str, str] = {name: each.kind for name, each in pseudonyms.items()}
    else:
        kinds = dict.fromkeys(pseudonyms, "unknown")
    for name in kinds:
        _check_role(name, schema)
    return kinds


def check_pseudonyms(pseudonyms: Mapping[str, Any] | None, schema: Schema) -> dict[str, Pseudonym]:
    """Return pseudonyms; raise unless each is one of a column that points at a person, and its key can be used."""
    for name, given in (pseudonyms or {}).items():
        if not isinstance(given, Pseudonym):
            raise ParameterError(
                f"the pseudonym of column {name!r} must be a Pseudonym; got {type(given).__name__}",
                hint=f'pseudonyms={{"{name}": ind.Pseudonym(key="FILE")}}',
            )
        _check_role(name, schema)
        given.secret(name, Secret())
    return dict(pseudonyms or {})


def _check_role(name: str, schema: Schema) -> None:
    """Raise unless a column with a pseudonym is an identifier or a person ID."""
    if name not in schema.columns:
        raise SchemaError(
            f"a pseudonym is given for column {name!r}, which the schema does not name",
            hint=did_you_mean(name, schema.columns) or f"the schema names: {', '.join(schema.columns)}",
        )
    if schema.role(name) not in (Role.IDENTIFIER, Role.PERSON):
        raise SchemaError(
            f"column {name!r} has the role {schema.role(name)}; pseudonyms replace identifiers and person IDs",
            hint="give it the role identifier or person, or leave the pseudonym out",
        )


def require_rows_here(source: Source, pseudonyms: Mapping[str, Pseudonym]) -> None:
    """Raise if there are pseudonyms and the rows of a source are published elsewhere, where none can be made."""
    if pseudonyms and source.in_memory is None and not hasattr(source, "batches"):
        raise ParameterError(
            f"the rows of a {type(source).__name__} are written where they lie, and no pseudonyms are made there",
            hint="use the engine memory or duckdb, or leave the pseudonyms out",
        )


def read_key(path: Path) -> bytes:
    """Return the key in a file that only its owner may read; raise `InputError`, never with what it holds."""
    try:
        mode, content = path.stat().st_mode, read_ordinary(path, most=LONGEST_KEY)
    except OSError as error:
        raise InputError(
            f"cannot read the key {path}: {error.strerror or 'unreadable'}", hint=f"check the path; {MAKE_ONE}"
        ) from None
    if os.name == "posix" and stat.S_IMODE(mode) & 0o077:
        raise InputError(
            f"others than its owner may use the key {path}, with which every pseudonym can be turned back",
            hint=f"chmod 600 {path}, or use a new key if others may have read it",
        )
    return _long_enough(content, f"the key {path}")


def _from_environment(name: str) -> bytes:
    """Read a key from an environment variable."""
    text = os.environ.get(name)
    if text is None:
        raise InputError(f"the environment has no variable {name!r}, which holds a key", hint=MAKE_ONE)
    return _long_enough(text.encode("utf-8", "surrogateescape"), f"the key in the variable {name!r}")


def _long_enough(content: bytes, what: str) -> bytes:
    """Return a key of at least 128 bits: bytes unchanged, hexadecimal digits as the bytes that they encode."""
    try:
        key = bytes.fromhex(content.decode("ascii"))
    except ValueError:
        key = content.rstrip(b"\r\n") if content.isascii() else content
    if len(key) < SHORTEST_KEY:
        raise InputError(
            f"{what} has {8 * len(key)} bits; at least {8 * SHORTEST_KEY} are needed, or it can be guessed",
            hint=MAKE_ONE,
        )
    if len(set(key)) < FEWEST_BYTES:
        raise InputError(
            f"{what} is not a key: it repeats a few bytes, such as zeros, and can be guessed", hint=MAKE_ONE
        )
    return key


def with_pseudonyms(assignment: Assignment, names: Iterable[str]) -> Assignment:
    """Add identifiers to an assignment's columns; a sink replaces them by pseudonyms."""
    pseudonymous, layout = tuple(OutputColumn(name, name) for name in names), assignment.layout
    if not pseudonymous:
        return assignment
    layout.structure.require_classes(in_buckets())
    (outputs,) = layout.tables[MAIN].slices
    roles = replace(layout.schema, identifiers=tuple(output.name for output in pseudonymous))
    tables = {**layout.tables, MAIN: OutputTable(((*pseudonymous, *outputs),))}
    return replace(assignment, layout=replace(layout, tables=tables, schema=roles))


def in_buckets() -> ParameterError:
    """Return the error of pseudonyms in a release that breaks the links which they would restore."""
    return ParameterError(
        "a release in buckets removes the links between columns, which a pseudonym would restore",
        hint="leave the pseudonyms out, or use an algorithm that publishes classes",
    )


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PseudonymSink:
    """A sink that puts pseudonyms in place of identifiers before another sink gets them."""

    sink: Sink
    keys: Mapping[str, bytes]

    @classmethod
    def around(cls, sink: Sink, pseudonyms: Mapping[str, Pseudonym], *, secret: Secret) -> Sink:
        """Wrap a sink so that it replaces identifiers by pseudonyms; without pseudonyms return it unchanged."""
        keys = {name: each.secret(name, secret) for name, each in pseudonyms.items()}
        return cls(sink, keys) if keys else sink

    def accept(self, name: str, batches: Iterable[pa.Table]) -> None:
        """Take one table, in batches, and give it on with pseudonyms."""
        self.sink.accept(name, map(self._replace_identifiers, batches) if name == MAIN else batches)

    def _replace_identifiers(self, table: pa.Table) -> pa.Table:
        for index, name in enumerate(table.column_names):
            if name in self.keys:
                table = table.set_column(index, name, _pseudonyms(name, table[name], self.keys[name]))
        return table


def _pseudonyms(name: str, column: pa.ChunkedArray, key: bytes) -> pa.ChunkedArray:
    """Return the pseudonym of every cell; a missing one has none."""
    if not len(column):
        return pa.chunked_array([pa.array([], pa.string())])
    encoded = encode_column(name, column, required=False)
    texts = pa.array(column_pseudonyms(key, encoded.domain), pa.string())
    return pa.chunked_array([texts.take(pa.array(encoded.codes))])


def with_declared_knowledge(pseudonyms: Mapping[str, Pseudonym], knows: str | None) -> dict[str, Pseudonym]:
    """Add what attackers are declared to know to pseudonyms; None leaves them unchanged."""
    return {name: each if knows is None else replace(each, knows=knows) for name, each in pseudonyms.items()}


def rows_are_unknown(kinds: Mapping[str, str], person: Sequence[str]) -> bool:
    """Return whether the pseudonyms of all person columns are declared not to reveal numbers of rows.

    >>> rows_are_unknown({"who": Pseudonym(random=True, knows="classes").kind}, ["who"]), rows_are_unknown({}, ["who"])
    (True, False)
    """
    return bool(person) and all(kinds.get(name, "").endswith(ROWS_UNKNOWN) for name in person)


def are_pseudonyms(values: pa.Array) -> bool:
    """Return whether all values look like pseudonyms, and not like what they replace."""
    texts = values.cast(pa.string())
    return bool(pc.all(pc.match_substring_regex(texts, LOOKS), min_count=0).as_py())


KEY_BYTES = 32
LENGTH = 16
KIND = f"S{LENGTH}"
"""The type of an array of pseudonyms."""
MAX_EXACT_NUMBER = 1 << 53
DAY = len("2024-01-31")
MIDNIGHT = re.compile(r"[ T]00:00:00(?:\.0*)?")
MISSING = b"\xff\xff\xff\xff"


def new_key() -> bytes:
    """Return a key of 256 bits from the operating system."""
    return secrets.token_bytes(KEY_BYTES)


def pseudonyms(key: bytes, domains: Sequence[Domain], codes: Codes, *, purpose: str) -> Codes:
    """Return a pseudonym for each row of codes, one column a domain; another `purpose` gives others.

    >>> name = Domain("name", pa.array(["Ada", "Bo"]))
    >>> one, two, again = pseudonyms(b"k" * 32, [name], np.array([[0], [1], [0]]), purpose="person")
    >>> bool(one == again), bool(one == two)
    (True, False)
    """
    columns = [_framed(domain) for domain in domains]
    start = _with_length(purpose.encode())
    listed = [column.tolist() for column in codes.T]
    if len(columns) == 1:
        texts = [start + columns[0][code] for code in listed[0]]
    else:
        texts = [
            start + b"".join(column[code] for column, code in zip(columns, row, strict=True))
            for row in zip(*listed, strict=True)
        ]
    return digests(key, texts)


def column_pseudonyms(key: bytes, domain: Domain) -> list[str | None]:
    """Return the pseudonym that is published for each value of a column, in hexadecimal digits; missing has none.

    It is the first half of the HMAC-SHA-256 of column, canonical type and value, each behind its length in four bytes.

    >>> one, two = column_pseudonyms(b"k" * 32, Domain("name", pa.array(["Ada", "Bo"])))
    >>> len(one), one == two
    (32, False)
    """
    texts: list[str | None] = [text.hex() for text in _halves(key, _framed(domain))]
    return [None, *texts[1:]] if domain.missing else texts


def digests(key: bytes, texts: Sequence[bytes]) -> Codes:
    """Return the first half of the HMAC-SHA-256 of each text."""
    halves = b"".join(_halves(key, texts))
    return np.frombuffer(halves, dtype=KIND) if halves else np.zeros(0, dtype=KIND)


def _halves(key: bytes, texts: Sequence[bytes]) -> list[bytes]:
    """Return the first half of the keyed hash of each text."""
    return [hmac.digest(key, text, "sha256")[:LENGTH] for text in texts]


def _framed(domain: Domain) -> list[bytes]:
    """Return column, type and value behind each code, each with its length."""
    start = _with_length(domain.column.encode())
    absent = start + _with_length(b"text") + MISSING
    values = [
        start + _with_length(kind.encode()) + _with_length(text.encode()) for kind, text in canonical(domain.values)
    ]
    return [absent, *values] if domain.missing else values


def canonical(values: pa.Array) -> list[tuple[str, str]]:
    """Return type and text of each value in a form that is equal in every file with this value.

    A column of whole numbers with a missing value often comes as floating-point numbers, and a date as the midnight
    that it begins with. So a number is an integer or a fraction, however its column stores it, and a moment without a
    time of day is a date. Beyond 2^53 a floating-point number may be one of several integers, and is taken for none.

    >>> canonical(pa.array([12.0, 12.5])), canonical(pa.array([12])), canonical(pa.array(["12"]))
    ([('integer', '12'), ('fraction', '12.5')], [('integer', '12')], [('text', '12')])
    """
    kind, texts = values.type, values.cast(pa.string()).to_pylist()
    if pa.types.is_integer(kind):
        return [("integer", text) for text in texts]
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return [_number(text, exact=pa.types.is_decimal(kind)) for text in texts]
    if pa.types.is_date(kind):
        return [("date", text) for text in texts]
    if pa.types.is_timestamp(kind):
        return [("date", text[:DAY]) if MIDNIGHT.fullmatch(text[DAY:]) else ("time", text) for text in texts]
    return [("text", text) for text in texts]


def _number(text: str, *, exact: bool) -> tuple[str, str]:
    """Return type and text of a number, so that 12.0 and 12 are equal."""
    number = Decimal(text)
    if number.is_finite() and number == number.to_integral_value() and (exact or abs(number) <= MAX_EXACT_NUMBER):
        return "integer", str(int(number))
    plain = f"{number:f}" if number.is_finite() else text
    return "fraction", plain.rstrip("0") if "." in plain else plain


def _with_length(text: bytes) -> bytes:
    return len(text).to_bytes(4, "big") + text
