"""The first policy for a table that was looked at: suggested roles, a model to begin with, and reasons."""

from pathlib import Path

from indistinct.algorithms.auto import Auto
from indistinct.algorithms.base import Algorithm
from indistinct.engines.base import DatabaseTable
from indistinct.figures import percent
from indistinct.inspection.value import ColumnProfile, Inspection
from indistinct.job.policy.value import Input, Output, Policy, relative_path
from indistinct.job.policy.writing import inline, write_policy
from indistinct.models import DistinctLDiversity, KAnonymity, Model
from indistinct.release.writing.formats import FORMATS
from indistinct.schema import Role
from indistinct.tables.addresses import STANDARD_INPUT
from indistinct.tables.domain import Kind
from indistinct.tables.value import Reading

# The least k whose risk keeps within the 0.09 that the European Medicines Agency (policy 0070) and Health Canada (2019)
# set for public clinical data, and so the profile `public`: 1/11 is a little more.
CAREFUL_K = 12
# Number of sensitive values from which the policy asks for three different ones in each class, else for two.
MANY_VALUES = 6
# Column sets that the heading names.
MAX_SETS_NAMED = 5
HEADING = """\
A first policy. Decide yourself before you run it:
  identifier   points at a person: dropped
  person       ID of people with several rows: dropped, and people are counted
  quasi        others may know it: generalized, best with a hierarchy
  sensitive    must not be learned about a person: published unmodified, models protect it
  insensitive  neither: published unmodified
k = {k}: an attacker who knows all quasi-identifiers of a person is left with {k} {unit} or more, as in public files.
Run it with: indistinct anonymize {name}"""


def write_starter(
    inspection: Inspection, data: Path | DatabaseTable, path: Path, *, reading: Reading, overwrite: bool = False
) -> Policy:
    """Write and return a first policy for an inspected table; it shows no value of the table except NA strings.

    It has the suggested roles, models for a public file, and the suggested hierarchies that the algorithm uses;
    comments name the others.
    """
    policy, notes = starter_policy(inspection, data, path.parent, reading=reading), starter_notes(inspection)
    k, unit = policy.models[0].spec().rpartition("=")[2], "people" if inspection.people else "rows"
    heading = HEADING.format(name=path.name, k=k, unit=unit) + _riskiest(inspection)
    write_policy(policy, path, overwrite=overwrite, heading=heading, notes=notes)
    return policy


def starter_policy(inspection: Inspection, data: Path | DatabaseTable, base: Path, *, reading: Reading) -> Policy:
    """Return a first policy for an inspected table, with paths relative to the folder `base`."""
    file = data if isinstance(data, Path) else Path((data.table or "query").rpartition(".")[2].strip('"'))
    suffix = file.suffix.lower() if file.suffix.lower() in FORMATS else ".csv"
    unused = _unused_hierarchies(inspection)
    return Policy(
        input=Input(relative_path(data, base), reading)
        if isinstance(data, Path)
        else Input(Path(), reading, database=data),
        schema=inspection.schema,
        models=(KAnonymity(min(CAREFUL_K, inspection.people or inspection.rows)), *_diversity(inspection)),
        hierarchies={name: each for name, each in inspection.hierarchies.items() if name not in unused},
        algorithm=Auto(),
        output=Output(Path(f"{_name(file)}-release{suffix}")),
        base=base,
    )


def starter_notes(inspection: Inspection) -> dict[str, str]:
    """Return the comment on each column of an inspected table."""
    unused = _unused_hierarchies(inspection)
    return {
        column.name: _note(column, rows=inspection.rows, unused=column.name in unused) for column in inspection.columns
    }


def _unused_hierarchies(inspection: Inspection) -> set[str]:
    """Return the columns whose suggested hierarchy a first policy cannot use."""
    return {column.name for column in inspection.columns if not _publishes(Auto(), column)}


def _riskiest(inspection: Inspection) -> str:
    """Return which few columns single out most people, as lines of a heading."""
    together = inspection.combinations
    lines = [
        f"  {' + '.join(each.columns)}: {each.unique:,} of {together.members:,} {together.unit} "
        f"({percent(together.share(each))}) are unique"
        for each in together.sets[:MAX_SETS_NAMED]
    ]
    return "\n".join(["", "Columns that single out most:", *lines]) if lines else ""


def _name(data: Path) -> str:
    """Return the stem of a release's name: that of the file; standard input has none."""
    return "table" if str(data) == STANDARD_INPUT else data.name.partition(".")[0]


def _publishes(algorithm: Algorithm, column: ColumnProfile) -> bool:
    """Return whether an algorithm publishes the hierarchy that is suggested for a column, as its traits declare it."""
    banded = column.hierarchy is not None and not column.hierarchy.categorical and column.kind is not Kind.TEXT
    return not (algorithm.traits.ranges and banded)


def _diversity(inspection: Inspection) -> list[Model]:
    """Return a model for each sensitive column with repeated values; unique values cannot be diverse.

    No value counts as a value, as models count it.
    """
    return [
        DistinctLDiversity(column.name, l=3 if column.distinct >= MANY_VALUES else 2)
        for column in inspection.columns
        if column.role is Role.SENSITIVE
        and column.distinct + (column.missing > 0) > 1
        and not column.points_at_rows(inspection.rows)
    ]


def _note(column: ColumnProfile, *, rows: int, unused: bool) -> str:
    """Return the comment on a column in a first policy."""
    missing = f", {column.missing:,} missing" if column.missing else ""
    notes = [f"{column.distinct:,} values{missing}", f"{percent(column.unique_share)} of the rows unique"]
    notes.append(column.reason)
    notes += [] if column.evidence is None else [column.figure]
    notes += [f"{percent(each.share)} of {each.judged:,} values are {each.meaning}" for each in column.partly]
    notes += column.findings
    if column.points_at_rows(rows):
        notes.append("an attacker who knows it finds the row: round it, or make it identifier or quasi")
    if unused and column.hierarchy is not None:
        spelled = inline(column.hierarchy.to_json())
        notes.append(f"for algorithms that publish levels of a hierarchy, such as optimal: hierarchy = {spelled}")
    return "; ".join(notes)
