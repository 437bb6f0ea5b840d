"""A policy as tests of dbt: what its models ask of a published table, as SQL of the databases that dbt runs on.

Each test selects the classes that break a model, as `verify` counts them on the published table alone: missing is a
value of its own, thresholds are compared in whole numbers where the definition allows it, and the rest with the same
tolerance. sqlglot writes every dialect from one tree.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from indistinct.errors import ParameterError
from indistinct.job.policy.value import Policy
from indistinct.models import (
    AlphaK,
    DistinctLDiversity,
    EntropyLDiversity,
    KAnonymity,
    Model,
    RecursiveLDiversity,
    TCloseness,
)
from indistinct.parameters import exact
from indistinct.release.verification.evidence import published_schema

DIALECTS = ("postgres", "duckdb", "snowflake", "bigquery", "databricks")
"""The databases that tests are written for, as dbt calls them, and sqlglot too."""
OWN = "indistinct_"
"""How names begin that the SQL gives, so that no column of a table is taken for one of them."""
MODEL = f"{OWN}published_table"
# How often a value occurs in a class, that value, its rank, its share above the table's, and the rows of the class.
ROWS, VALUE, PLACE, ABOVE, SIZE = (OWN + word for word in ("rows", "value", "place", "above", "size"))
# What verification lets pass, because rounding alone may make it.
ROUNDING_TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True)
class DbtTest:
    """A generic test of dbt: its name, the model that it asks about, and the SQL of every dialect."""

    name: str
    model: str
    queries: Mapping[str, str]

    @property
    def text(self) -> str:
        """The file of the test."""
        meaning = "classes of a published table that break it; no row means that it holds"
        lines = [f"{{# {self.model}: {meaning} #}}", f"{{% test {self.name}(model) %}}"]
        for number, (dialect, query) in enumerate(self.queries.items()):
            lines += [f"{{% {'elif' if number else 'if'} target.type == '{dialect}' %}}", query]
        known = ", ".join(self.queries)
        lines += ["{% else %}", f'{{{{ exceptions.raise_compiler_error("{self.name} is written for {known}") }}}}']
        return "\n".join([*lines, "{% endif %}", "{% endtest %}", ""])


@dataclass(frozen=True, slots=True)
class DbtTests:
    """The tests of a policy, and the models that no test is written for, with the reason."""

    tests: tuple[DbtTest, ...]
    not_written: Mapping[str, str]


def dbt_tests(policy: Policy, *, columns: Sequence[str] | None = None) -> DbtTests:
    """Return the tests of a policy; `columns` are those of a release, where ranges are published as several.

    Raises `ParameterError` for what a published table alone does not show: people, buckets, and ranges in an unknown
    form.
    """
    _require_classes(policy, columns)
    quasi = policy.schema.quasi if columns is None else published_schema(policy.schema, columns).quasi
    strange = [name for name in policy.schema.columns if any(mark in name for mark in ("{{", "{%", "{#", "}}"))]
    if strange:
        raise ParameterError("a column has a name that dbt would run: it holds {{ or {%", hint="rename the column")
    if any(name.lower().startswith(OWN) for name in policy.schema.columns):
        raise ParameterError(f"a column has a name that begins with {OWN}, as those of the tests do", hint="rename it")
    parts = [] if policy.model is None else list(policy.model.parts())
    tests, refused = [], {}
    for model in parts:
        query = query_of(model, quasi)
        if isinstance(query, str):
            queries = {dialect: _write(query, dialect) for dialect in DIALECTS}
            tests.append(DbtTest(_name(policy, model), model.spec(), queries))
        else:
            refused[model.spec()] = query.reason
    if not tests:
        reasons = "; ".join(f"{spec}: {reason}" for spec, reason in refused.items()) or "the policy names no model"
        raise ParameterError(f"no test can be written: {reasons}", hint="`indistinct verify` checks every model")
    return DbtTests(tuple(tests), refused)


def _require_classes(policy: Policy, columns: Sequence[str] | None) -> None:
    """Raise unless the policy publishes classes and shows all columns that its tests need."""
    if policy.schema.person:
        raise ParameterError(
            "the policy counts people, which a published table does not show",
            hint="`indistinct verify` counts them on the original",
        )
    policy.algorithm.require_classes(
        ParameterError(
            "a release in buckets has no classes that SQL could group", hint="`indistinct verify` judges its buckets"
        )
    )
    if columns is None and policy.output.ranges == "columns":
        raise ParameterError(
            "the policy publishes ranges as columns, whose names are read from a release",
            hint="name a release of the policy: --release FILE",
        )


@dataclass(frozen=True, slots=True)
class NoTest:
    """Why no test is written for a model."""

    reason: str


def query_of(model: Model, quasi: Sequence[str]) -> str | NoTest:
    """Return SQL that selects the classes of a published table that break a model, in the dialect of DuckDB."""
    for kind, make in _MAKERS.items():
        if type(model) is kind:
            return make(model, [quote(name) for name in quasi])
    return NoTest("it is not among k, l and t: k-anonymity, alpha-k, l-diversities, t-closeness by equal distance")


def quote(name: str) -> str:
    """Return a name as SQL takes it."""
    return '"' + name.replace('"', '""') + '"'


def _size(model: KAnonymity, quasi: list[str]) -> str:
    names = ", ".join(quasi)
    return f"SELECT {names}, COUNT(*) AS {SIZE} FROM {MODEL} GROUP BY {names} HAVING COUNT(*) < {model.k}"  # noqa: S608


def _counted(quasi: list[str], sensitive: str) -> str:
    """Return the SQL that counts each sensitive value in each class; missing counts as a value."""
    names = ", ".join(quasi)
    return (
        f"counted AS (SELECT {names}, {quote(sensitive)} AS {VALUE}, COUNT(*) AS {ROWS} "  # noqa: S608
        f"FROM {MODEL} GROUP BY {names}, {quote(sensitive)})"
    )


def _grouped(quasi: list[str], sensitive: str, having: str, *, more: str = "", source: str = "counted") -> str:
    """Return the SQL that selects the classes for which `having` is true."""
    names = ", ".join(quasi)
    steps = ", ".join(filter(None, [_counted(quasi, sensitive), more]))
    return f"WITH {steps} SELECT {names}, SUM({ROWS}) AS {SIZE} FROM {source} GROUP BY {names} HAVING {having}"  # noqa: S608


def _distinct(model: DistinctLDiversity, quasi: list[str]) -> str:
    return _grouped(quasi, model.sensitive, f"COUNT(*) < {model.l}")


def _alpha(model: AlphaK, quasi: list[str]) -> str | NoTest:
    """Return the SQL that selects the classes that break (alpha, k)-anonymity."""
    if model.protected:
        return NoTest("it protects some values, whose text depends on the database")
    alpha: Fraction = exact(model.alpha)
    share = f"MAX({ROWS}) * {alpha.denominator} > SUM({ROWS}) * {alpha.numerator}"
    return _grouped(quasi, model.sensitive, f"SUM({ROWS}) < {model.k} OR {share}")


def _entropy(model: EntropyLDiversity, quasi: list[str]) -> str | NoTest:
    """Return the SQL that selects the classes that break entropy l-diversity."""
    if model.estimator != "shannon":
        return NoTest("its entropy is corrected by a function that databases do not have")
    size, number = f"CAST(SUM({ROWS}) AS DOUBLE)", f"CAST({ROWS} AS DOUBLE)"
    entropy = f"LN({size}) - SUM({number} * LN({number})) / {size}"
    return _grouped(quasi, model.sensitive, f"EXP({entropy}) < {model.l * (1 - ROUNDING_TOLERANCE)!r}")


def _recursive(model: RecursiveLDiversity, quasi: list[str]) -> str:
    """Return the SQL that selects the classes that break recursive (c, l)-diversity."""
    names, c = ", ".join(quasi), exact(model.c)
    rank = f"ROW_NUMBER() OVER (PARTITION BY {names} ORDER BY {ROWS} DESC)"
    ranked = f"ranked AS (SELECT {names}, {ROWS}, {rank} AS {PLACE} FROM counted)"  # noqa: S608
    tail = f"SUM(CASE WHEN {PLACE} >= {model.l} THEN {ROWS} ELSE 0 END)"
    having = f"MAX({ROWS}) * {c.denominator} >= {tail} * {c.numerator}"
    return _grouped(quasi, model.sensitive, having, more=ranked, source="ranked")


def _closeness(model: TCloseness, quasi: list[str]) -> str | NoTest:
    """Return the SQL that selects the classes that break t-closeness with equal distance."""
    if model.distance != "equal":
        return NoTest(f"its distance is {model.distance}; SQL is written for equal")
    names = ", ".join(quasi)

    def total(over: str) -> str:
        return f"CAST(SUM({ROWS}) OVER ({over}) AS DOUBLE)"

    own, whole = total(f"PARTITION BY {names}"), f"{total(f'PARTITION BY {VALUE}')} / {total('')}"
    share = f"CAST({ROWS} AS DOUBLE) / {own} - {whole}"
    excess = f"excess AS (SELECT {names}, {ROWS}, {share} AS {ABOVE} FROM counted)"  # noqa: S608
    having = f"SUM(CASE WHEN {ABOVE} > 0 THEN {ABOVE} ELSE 0 END) > {model.t + ROUNDING_TOLERANCE!r}"
    return _grouped(quasi, model.sensitive, having, more=excess, source="excess")


_MAKERS: dict[type[Model], Callable[[Any, list[str]], str | NoTest]] = {
    KAnonymity: _size,
    AlphaK: _alpha,
    DistinctLDiversity: _distinct,
    EntropyLDiversity: _entropy,
    RecursiveLDiversity: _recursive,
    TCloseness: _closeness,
}


def _write(query: str, dialect: str) -> str:
    """Return a query in a dialect, about the table that dbt names."""
    import sqlglot

    (text,) = sqlglot.transpile(query, read="duckdb", write=dialect, identify=True, pretty=True)
    marked = next(mark for mark in (f'"{MODEL}"', f"`{MODEL}`") if mark in text)
    return text.replace(marked, "{{ model }}")


def _name(policy: Policy, model: Model) -> str:
    """Return the name of a test: that of the policy, of the model and of the column that it protects."""
    stem = (policy.name or "policy").removesuffix(".toml")
    sensitive = getattr(model, "sensitive", "")
    words = "_".join(filter(None, ["indistinct", stem, model.name, sensitive]))
    return "".join(letter if letter.isascii() and letter.isalnum() else "_" for letter in words).lower()
