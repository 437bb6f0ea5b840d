"""The first policy for a table that was looked at: suggested roles, a model to begin with, and reasons."""

from pathlib import Path

from indistinct.domain import Kind
from indistinct.inspection import ColumnProfile, Inspection
from indistinct.models import DistinctLDiversity, KAnonymity, Model
from indistinct.policy.value import Input, Output, Policy, relative_path
from indistinct.policy.writing import write_policy
from indistinct.release.formats import FORMATS
from indistinct.schema import Role
from indistinct.tables.value import Reading

HEADING = """\
A first policy. Decide yourself before you run it:
  identifier   points at a person: dropped
  person       tells people apart who have several rows: dropped, and people are counted
  quasi        others may know it: recoded, best with a hierarchy
  sensitive    must not be learnt about a person: published as it is, models protect it
  insensitive  neither: published as it is
Run it with: indistinct anonymize {name}"""


def write_starter(found: Inspection, data: Path, path: Path, *, reading: Reading, overwrite: bool = False) -> Policy:
    """Write and return a first policy for an inspected table; it tells no value of the table but marks for missing.

    It has the suggested roles and hierarchies, with 5-anonymity and two values of each sensitive text.
    """
    suffix = data.suffix.lower() if data.suffix.lower() in FORMATS else ".csv"
    policy = Policy(
        input=Input(relative_path(data, path.parent), reading),
        schema=found.schema,
        models=(KAnonymity(5), *_diversity(found)),
        hierarchies=found.hierarchies,
        output=Output(Path(f"{data.name.partition('.')[0]}-release{suffix}")),
        base=path.parent,
    )
    notes = {column.name: _note(column) for column in found.columns}
    write_policy(policy, path, overwrite=overwrite, heading=HEADING.format(name=path.name), notes=notes)
    return policy


def _diversity(found: Inspection) -> list[Model]:
    # Marks of the spelling cannot stand in a name that is spelled.
    return [
        DistinctLDiversity(column.name, l=2)
        for column in found.columns
        if column.role is Role.SENSITIVE
        and column.kind is Kind.TEXT
        and column.distinct > 1
        and not set(column.name) & set(",=&|:")
        and column.name == column.name.strip()
    ]


def _note(column: ColumnProfile) -> str:
    missing = f", {column.missing:,} missing" if column.missing else ""
    unique = f"{100 * column.unique_share:.3g} % of the rows unique"
    return "; ".join([f"{column.distinct:,} values{missing}", unique, column.reason, *column.findings])
