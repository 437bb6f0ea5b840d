"""A workload: weighted queries that a release must answer, read from a file or drawn from a table."""

import csv
import hashlib
import io
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from indistinct.errors import IndistinctError, InputError, OutputError, ParameterError, SchemaError, did_you_mean
from indistinct.machine.arrays import Codes, Floats, Mask
from indistinct.metrics.queries.boxes import boxes_of, codes_in
from indistinct.metrics.queries.parse import EXAMPLE, parse_query
from indistinct.metrics.queries.value import AllConditions, Compare, Condition, Constant, Either, Query, columns_in
from indistinct.metrics.queries.values import ColumnValues, column_values
from indistinct.schema import Schema
from indistinct.tables.addresses import read_ordinary
from indistinct.tables.domain import Domain, Kind, kind_of
from indistinct.tables.opening import open_table

DISTRIBUTIONS = ("data", "uniform")
EXPECTED = f"a line is a query, or a weight, a bar and a query: 2.5 | {EXAMPLE}"
_WEIGHTED = re.compile(r"\s*([^|'\"\s]+)\s*\|(.*)", re.DOTALL)
DIGEST_DIGITS = 12


@dataclass(frozen=True, eq=False)
class Workload:
    """Queries with positive weights; `source` is the file from which they were read.

    >>> workload = Workload.of(["SELECT COUNT(*) WHERE age < 30", "SELECT AVG(age)"], weights=[2, 1])
    >>> len(workload), workload.weights
    (2, (2.0, 1.0))
    """

    queries: tuple[Query, ...]
    weights: tuple[float, ...]
    source: str | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if not self.queries:
            raise ParameterError("a workload has no query", hint=EXPECTED)
        if len(self.queries) != len(self.weights):
            raise ParameterError(f"{len(self.queries)} queries have {len(self.weights)} weights; each needs one")
        if any(not math.isfinite(weight) or weight <= 0 for weight in self.weights):
            raise ParameterError("weights of queries must be finite and above 0")
        if any(query.groups for query in self.queries):
            raise ParameterError("a query of a workload has one answer, and no GROUP BY", hint="ask for each group")

    def __len__(self) -> int:
        return len(self.queries)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Workload) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __str__(self) -> str:
        """Return the name of the file, without its folder, and the digest, as a certificate names its workload."""
        return f"{Path(self.source or '').name}#{self.digest[:DIGEST_DIGITS]}"

    def __repr__(self) -> str:
        return f"<Workload of {len(self)} queries, {self.digest[:DIGEST_DIGITS]}>"

    @classmethod
    def of(cls, queries: Iterable[Query | str], *, weights: Sequence[float] | None = None) -> "Workload":
        """Return a workload of queries, as SQL or values; without weights all have the same."""
        read = tuple(parse_query(each) if isinstance(each, str) else each for each in queries)
        return cls(read, (1.0,) * len(read) if weights is None else tuple(map(float, weights)))

    @classmethod
    def read(cls, path: str | Path) -> "Workload":
        """Read a workload: one query a line, perhaps behind a weight and a bar; or CSV with the columns weight, query.

        Empty lines, and those that begin with --, are left out. Raises `InputError` with file, line and what was
        expected.
        """
        where = Path(path)
        try:
            text = read_ordinary(where).decode("utf-8-sig")
        except FileNotFoundError:
            raise InputError(f"there is no workload {where}", hint="check the path") from None
        except UnicodeDecodeError:
            raise InputError(f"the workload {where} is not UTF-8 text", hint="save it as UTF-8") from None
        except OSError as error:
            raise InputError(f"the workload {where} cannot be read: {error.strerror}") from None
        lines = _of_csv(text, where) if where.suffix.lower() == ".csv" else _of_lines(text, where)
        if not lines:
            raise InputError(f"the workload {where} has no query", hint=EXPECTED)
        queries, weights = zip(*lines, strict=True)
        return cls(queries, weights, str(where))

    @classmethod
    def generate(
        cls,
        table: Any,
        schema: Schema,
        *,
        queries: int = 1000,
        attributes: int = 2,
        selectivity: float = 0.05,
        distribution: str = "data",
        columns: Sequence[str] | None = None,
        seed: int | None = None,
    ) -> "Workload":
        """Draw COUNT queries of ranges and sets over quasi-identifiers of a table, or over the named `columns`.

        Each is about `attributes` columns and chooses a share of about `selectivity` of the rows. Ranges lie around
        rows that are drawn ("data"), or around values that are all equally likely ("uniform").
        """
        return cls.of(
            draw_queries(
                table,
                schema,
                queries=queries,
                attributes=attributes,
                selectivity=selectivity,
                distribution=distribution,
                columns=columns,
                seed=seed,
            )
        )

    @classmethod
    def from_text(cls, text: str) -> "Workload":
        """Return the workload of a text: a path, optionally with the digest that its file must have."""
        path, mark, digest = text.rpartition("#")
        if not mark:
            return cls.read(text)
        if not path:
            raise ParameterError(
                "this workload was made in Python and is in no file", hint="write it to a file and name that"
            )
        workload = cls.read(path)
        if not workload.digest.startswith(digest):
            raise InputError(
                f"the queries of the workload {path} have changed since it was named",
                hint="give the file with the same queries, or search a new recoding",
            )
        return workload

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of the queries and their weights, independent of how they were written."""
        lines = "\n".join(f"{weight!r} | {query}" for query, weight in zip(self.queries, self.weights, strict=True))
        return hashlib.sha256(lines.encode("utf-8", "surrogatepass")).hexdigest()

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column that a query uses."""
        return tuple(dict.fromkeys(name for query in self.queries for name in query.columns))

    def write(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the workload as lines, or as CSV where the path ends in .csv."""
        where = Path(path)
        pairs = [(f"{weight:.17g}", str(query)) for query, weight in zip(self.queries, self.weights, strict=True)]
        if where.suffix.lower() == ".csv":
            made = io.StringIO()
            csv.writer(made, lineterminator="\n").writerows([("weight", "query"), *pairs])
            text = made.getvalue()
        else:
            text = "".join(f"{'' if weight == '1' else f'{weight} | '}{query}\n" for weight, query in pairs)
        try:
            with where.open("w" if overwrite else "x", encoding="utf-8", newline="") as file:
                file.write(text)
        except FileExistsError:
            raise OutputError(f"{where} exists already", hint="overwrite=True replaces it") from None
        except OSError as error:
            raise OutputError(f"{where} cannot be written: {error.strerror}") from None


def _of_lines(text: str, where: Path) -> list[tuple[Query, float]]:
    """Parse a workload with a query per line, each with an optional weight."""
    queries = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.lstrip().startswith("--"):
            continue
        parted = _WEIGHTED.fullmatch(line)
        weight, sql = ("1", line) if parted is None else parted.groups()
        queries.append((_query(sql, where, number), _weight(weight, where, number)))
    return queries


def _of_csv(text: str, where: Path) -> list[tuple[Query, float]]:
    """Parse a workload from CSV."""
    rows = csv.reader(io.StringIO(text))
    queries = []
    header: list[str] | None = None
    try:
        for row in rows:
            if not any(cell.strip() for cell in row):
                continue
            if header is None:
                header = [cell.strip().lower() for cell in row]
                if header not in (["weight", "query"], ["query", "weight"], ["query"]):
                    raise _malformed_error(
                        where, rows.line_num, "the columns weight and query, named in the first line"
                    )
                continue
            if len(row) != len(header):
                raise _malformed_error(where, rows.line_num, f"{len(header)} cells, one a column")
            cells = dict(zip(header, row, strict=True))
            query = _query(cells["query"], where, rows.line_num)
            queries.append((query, _weight(cells.get("weight", "1"), where, rows.line_num)))
    except csv.Error:
        raise _malformed_error(where, rows.line_num, "CSV with the columns weight and query") from None
    return queries


def _query(sql: str, where: Path, line: int) -> Query:
    """Parse one query of a file; errors name the line."""
    try:
        query = parse_query(sql.strip().rstrip(";"))
    except IndistinctError as error:
        raise InputError(f"{where}, line {line}: {error.message}", hint=error.hint or EXPECTED, lines=[line]) from None
    if query.groups:
        raise _malformed_error(where, line, "a query with one answer, without GROUP BY")
    return query


def _weight(text: str, where: Path, line: int) -> float:
    """Parse the weight of a query."""
    try:
        weight = float(text)
    except ValueError:
        weight = math.nan
    if not math.isfinite(weight) or weight <= 0:
        raise _malformed_error(where, line, "a weight above 0 before the bar")
    return weight


def _malformed_error(where: Path, line: int, expected: str) -> InputError:
    return InputError(f"{where}, line {line}: expected {expected}", hint=EXPECTED, lines=[line])


def draw_queries(
    table: Any,
    schema: Schema,
    *,
    queries: int,
    attributes: int,
    selectivity: float,
    distribution: str,
    columns: Sequence[str] | None,
    seed: int | None,
) -> list[Query]:
    """Return queries of `attributes` columns each; each column allows its part of the wanted share of rows."""
    source = open_table(table)
    names = tuple(columns) if columns is not None else tuple(schema.quasi)
    _check(names, source.columns, schema, queries, attributes, selectivity, distribution)
    share = selectivity ** (1 / attributes)
    generator = np.random.default_rng(seed)
    known = {name: _CountedValues.of(source.data[name]) for name in names}
    usable = [name for name in names if len(known[name].values)]
    if len(usable) < attributes:
        raise ParameterError(
            f"{len(usable)} of the columns have values, and {attributes} are asked for", hint="ask for fewer attributes"
        )
    drawn_queries = []
    for _ in range(queries):
        chosen = sorted(generator.choice(len(usable), size=attributes, replace=False).tolist())
        parts = [known[usable[index]].condition(usable[index], share, distribution, generator) for index in chosen]
        drawn_queries.append(Query(where=parts[0] if len(parts) == 1 else AllConditions(tuple(parts))))
    return drawn_queries


class _CountedValues:
    """The distinct values of a column and their numbers of rows; `ordered` if ranges make sense."""

    def __init__(self, values: list[Any], counts: Codes, *, ordered: bool) -> None:
        self.values, self.ordered = values, ordered
        self.running = np.concatenate([[0], np.cumsum(counts)]) / max(int(counts.sum()), 1)

    @classmethod
    def of(cls, column: pa.ChunkedArray) -> "_CountedValues":
        """Count the values of a column, ascending."""
        ordered = kind_of(column.type) is not Kind.TEXT
        plain = column.cast(column.type.value_type) if isinstance(column.type, pa.DictionaryType) else column
        counted = plain.drop_null().value_counts()
        values, counts = counted.field("values"), counted.field("counts").to_numpy(zero_copy_only=False)
        order = pa.compute.sort_indices(values.cast(pa.string()) if pa.types.is_boolean(values.type) else values)
        return cls(values.take(order).to_pylist(), counts[order.to_numpy()], ordered=ordered)

    def condition(self, name: str, share: float, distribution: str, generator: np.random.Generator) -> Compare:
        """Return a condition, a range or a set of texts, that about a `share` of the rows satisfies."""
        count = len(self.values)
        if distribution == "uniform":
            wanted = max(1, round(share * count))
            first = int(generator.integers(0, count - wanted + 1))
            positions = list(range(first, first + wanted))
        else:
            start = generator.uniform(0, max(1 - share, 0.0))
            first = int(np.searchsorted(self.running, start, "right")) - 1
            last = max(first, int(np.searchsorted(self.running, start + share, "left")) - 1)
            positions = list(range(min(first, count - 1), min(last, count - 1) + 1))
        if self.ordered:
            return Compare(name, "BETWEEN", (_plain(self.values[positions[0]]), _plain(self.values[positions[-1]])))
        if distribution == "uniform":
            positions = sorted(generator.choice(count, size=len(positions), replace=False).tolist())
        if len(positions) == 1:
            return Compare(name, "=", (_plain(self.values[positions[0]]),))
        return Compare(name, "IN", tuple(_plain(self.values[index]) for index in positions))


def _plain(value: Any) -> Constant:
    return float(value) if type(value).__name__ == "Decimal" else value


def _check(
    names: Sequence[str],
    present: Sequence[str],
    schema: Schema,
    queries: int,
    attributes: int,
    selectivity: float,
    distribution: str,
) -> None:
    """Raise unless queries can be drawn: about published columns, with each argument in its range."""
    if not names:
        raise ParameterError(
            "queries need at least one column; got none", hint=f"choose among {', '.join(schema.published)}"
        )
    for name, times in Counter(names).items():
        if times > 1:
            raise ParameterError(f"`columns` names {name!r} twice", hint="name each column once")
        if name in schema.hidden or name not in present:
            raise SchemaError(
                f"queries cannot be about column {name!r}, which is not published",
                hint=did_you_mean(name, schema.published) or f"choose among {', '.join(schema.published)}",
            )
    if queries < 1:
        raise ParameterError(f"`queries` must be at least 1; got {queries}")
    if not 1 <= attributes <= len(names):
        raise ParameterError(f"`attributes` must be from 1 to {len(names)}, the number of columns; got {attributes}")
    if not 0 < selectivity <= 1:
        raise ParameterError(f"`selectivity` must be above 0 and at most 1; got {selectivity}")
    if distribution not in DISTRIBUTIONS:
        raise ParameterError(
            f"there is no distribution {distribution!r}",
            hint=did_you_mean(distribution, DISTRIBUTIONS) or f"choose among {', '.join(DISTRIBUTIONS)}",
        )


@dataclass(frozen=True, slots=True, eq=False)
class Boxes:
    """The boxes of a workload: the query of each box, and its weight.

    `accepted` has for every column a matrix (boxes × codes), or None if no query has a condition on it.
    """

    owners: Codes
    weights: Floats
    accepted: tuple[Mask | None, ...]

    def __len__(self) -> int:
        return len(self.owners)


def boxes_of_workload(workload: Workload, domains: Sequence[Domain]) -> Boxes:
    """Return the boxes of the queries of a workload on these columns; conditions on others are ignored."""
    columns = {domain.column: column_values(domain) for domain in domains}
    owners, weights, boxes = [], [], []
    for query, (asked, weight) in enumerate(zip(workload.queries, workload.weights, strict=True)):
        for box in boxes_of(_about(asked.rows, columns), columns):
            owners.append(query)
            weights.append(weight)
            boxes.append(box)
    accepted = []
    for domain in domains:
        rows = [box.get(domain.column) for box in boxes]
        everything = np.ones(len(domain), dtype=bool)
        asked_for = any(row is not None for row in rows)
        made = [everything if row is None else codes_in(row, domain) for row in rows]
        accepted.append(np.stack(made) if asked_for else None)
    return Boxes(np.array(owners, dtype=np.int64), np.array(weights, dtype=np.float64), tuple(accepted))


def _about(condition: Condition | None, columns: Mapping[str, ColumnValues]) -> Condition | None:
    """Return the part of a condition that is about these columns."""
    if condition is None or all(name in columns for name in columns_in(condition)):
        return condition
    match condition:
        case AllConditions(parts):
            both = [part for each in parts if (part := _about(each, columns)) is not None]
            return AllConditions(tuple(both)) if both else None
        case Either(parts):
            either = [_about(each, columns) for each in parts]
            return None if any(part is None for part in either) else Either(tuple(part for part in either if part))
        case _:
            return None
