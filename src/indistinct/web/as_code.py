"""A job without the page: as a policy, as a command and as Python.

All three are meant for the folder in which the table lies, or would lie if it was uploaded: nothing in them leads into
the private folder of the page.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from indistinct.errors import PolicyError
from indistinct.job.as_command import command_of
from indistinct.job.as_python import python_of
from indistinct.job.policy import Policy, policy_to_toml
from indistinct.job.policy.value import move_files, relative_path
from indistinct.linked.declared import LinkedPolicy
from indistinct.linked.writing import linked_policy_to_toml, move_linked
from indistinct.tables.addresses import is_elsewhere
from indistinct.web.sessions import Session
from indistinct.web.tasks.searching import release_name

NOTES = "notes"
"""The key of a session under which the findings of the first look about each column are kept."""
NOTHING_YET = "# Open a table first."
NO_PROMISE, SAY_WHAT_HOLDS = "nothing is promised yet", "say what must hold, in the step Privacy"
HEADING = """\
Made on the page. It reads {table}: put both into one folder and run
  indistinct anonymize policy.toml"""
TABLES_HEADING = """\
Made on the page. Put it into the folder of the tables, and run
  indistinct anonymize policy.toml"""
TABLES_COMMAND = "indistinct anonymize policy.toml"
TABLES_PYTHON = """\
import indistinct as ind

release = ind.run("policy.toml")
print(release.certificate.smallest_group)
"""


def as_policy(session: Session) -> str:
    """Return the policy of a session's job."""
    if session.tables is not None:
        return tables_policy_text(session.tables.policy, session.folder)
    policy = session.policy
    if policy is None:
        return NOTHING_YET
    return policy_text(portable(policy, session.folder), notes=session.result(NOTES))


def as_command(session: Session) -> str:
    """Return the command that runs a session's job."""
    if session.tables is not None:
        return TABLES_COMMAND
    return NOTHING_YET if session.policy is None else command_of(_promising(session.policy, session.folder))


def as_python(session: Session) -> str:
    """Return Python that runs a session's job."""
    if session.tables is not None:
        return TABLES_PYTHON
    return NOTHING_YET if session.policy is None else python_of(_promising(session.policy, session.folder))


def tables_policy_text(policy: LinkedPolicy, private: Path, *, base: Path | None = None) -> str:
    """Return the policy of several tables for download: its paths start at the folder of the tables."""
    home = base or policy.base

    def move(path: Path) -> Path:
        located = policy.locate(path)
        if _lies_in(located, private):
            return Path(located.name)
        return located.resolve() if _lies_in(home, private) else relative_path(located, home)

    def move_hierarchy(path: Path) -> Path | None:
        return None if _lies_in(policy.locate(path), private) else move(path)

    moved = move_linked(policy, move, base=home, move_hierarchy=move_hierarchy)
    return linked_policy_to_toml(replace(moved, folder=policy.folder or Path("release")), heading=TABLES_HEADING)


def _promising(policy: Policy, private: Path) -> Policy:
    """Return a policy that can be run; raise if it has no privacy guarantee."""
    if not policy.models and policy.algorithm.promise() is None:
        raise PolicyError(NO_PROMISE, hint=SAY_WHAT_HOLDS)
    return portable(policy, private)


def policy_text(policy: Policy, *, notes: Mapping[str, str] | None = None) -> str:
    """Return a policy for download; `notes` are comments above the columns that they name."""
    comments = {name: " ".join(note.split()) for name, note in (notes or {}).items() if name in policy.schema.columns}
    return policy_to_toml(policy, heading=HEADING.format(table=_table(policy)), notes=comments)


def _table(policy: Policy) -> str:
    return "a database" if policy.input.database else " ".join(policy.input.path.name.split())


def portable(policy: Policy, private: Path, *, base: Path | None = None) -> Policy:
    """Return a policy with paths relative to the folder of its table, or to `base`.

    Uploads are in the `private` folder of the page: they are named by their file names alone, as if they were in the
    folder of the table, and an uploaded hierarchy is written into the policy. The release goes to the same folder.
    """
    source = policy.source
    home = base or (source.parent if isinstance(source, Path) else policy.base)

    def move(path: Path) -> Path:
        located = policy.locate(path)
        if is_elsewhere(path) or is_elsewhere(located):
            return path
        if _lies_in(located, private):
            return Path(located.name)
        return located.resolve() if _lies_in(home, private) else relative_path(located, home)

    def move_hierarchy(path: Path) -> Path | None:
        return None if _lies_in(policy.locate(path), private) else move(path)

    moved = move_files(policy, move, base=home, move_hierarchy=move_hierarchy)
    if moved.output.database is not None:
        return moved
    return replace(moved, output=replace(moved.output, path=Path(release_name(policy))))


def _lies_in(path: Path, folder: Path) -> bool:
    return path.resolve().is_relative_to(folder.resolve())
