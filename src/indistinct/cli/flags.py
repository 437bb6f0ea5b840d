"""One parser for every command: flags become a policy, or additions to one."""

import glob
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from indistinct.cli.options import READING, ROLES, Flags
from indistinct.cli.screen import note
from indistinct.cli.spelled import (
    by_column,
    date_formats_of,
    hierarchies_of,
    importance_of_flags,
    items_of,
    levels_of_flags,
    models_of,
    names_of,
    node_of,
    numeric_of_flags,
    pseudonyms_of,
    transformations_of,
)
from indistinct.errors import ParameterError
from indistinct.schema import Schema
from indistinct.settings import FLAGS, settings_under
from indistinct.suppression_limit import parse_budget

if TYPE_CHECKING:
    from indistinct.engines.base import DatabaseTable, Source
    from indistinct.job.job import Changes
    from indistinct.job.policy import Policy
    from indistinct.job.policy.value import AnalysisPlan
    from indistinct.release.writing.delimited import Writing
    from indistinct.tables import Table
    from indistinct.tables.value import Reading

# What a comparison varies: with --instead these flags take the place of what a policy says.
VARIED = ("model", "algorithm", "suppression")
# What a policy says, so that no flag may say it again.
JOB = (
    *(*ROLES, "model", "algorithm", "hierarchy", "transform", "pseudonym", "suppression", "importance", "levels"),
    *("numeric", "target", "sample", *READING),
)


def place_of(text: str | None, table: str | None = None, query: str | None = None) -> "Path | DatabaseTable | None":
    """Return the table of a database if the text is its address, else the file; None for no text."""
    from indistinct.engines.base import DatabaseTable, is_address

    if text is not None and is_address(text):
        return DatabaseTable(text, table, query)
    if table is not None or query is not None:
        raise ParameterError(
            "a table or a query goes with the address of a database",
            hint="for example postgresql://host/clinic --table clinic.visits",
        )
    return None if text is None else Path(text)


def data_of(text: str, flags: Flags) -> "Path | DatabaseTable":
    """Return the table that an argument names, together with --table or --query; a file may be a database too."""
    from indistinct.engines.base import is_address

    named = place_of(text, flags.table if is_address(text) else None, flags.query)
    return Path(text) if named is None else named


def job_of(
    source: "Path | DatabaseTable",
    flags: Flags,
    *,
    node: str | None = None,
    data: Path | None = None,
    instead: bool = False,
) -> "Policy":
    """Return the policy in a file (.toml), or the one that flags describe for a table in it.

    A chosen node takes the place of the algorithm, and `data` that of the table that a policy names. With `instead`
    the flags that a comparison varies take the place of what the policy says.
    """
    from indistinct.algorithms.full_domain.node import ChosenNode
    from indistinct.text_form import spell

    by_policy = isinstance(source, Path) and source.suffix.lower() == ".toml"
    if node is not None and flags.algorithm is not None:
        raise ParameterError(
            "--node and --algorithm exclude each other", hint="leave one of them out: a chosen node needs no search"
        )
    if data is not None and not by_policy:
        raise ParameterError(
            "--input goes with a policy, whose table it replaces", hint=f"indistinct anonymize {data} and flags, or -o"
        )
    if instead and not by_policy:
        raise ParameterError("--instead goes with a policy", hint="with a table every flag counts")
    policy = policy_of(
        source,
        flags,
        policy=source if by_policy and isinstance(source, Path) else None,
        allowed=VARIED if instead else (),
    )
    if instead:
        policy = _vary_policy(policy, flags)
    if data is not None:
        _check_there(data)
        policy = replace(policy, input=policy.input.of_other_table(_absolute(data)))
    if not policy.models and policy.algorithm.promise() is None:
        raise no_model()
    if node is None:
        return policy
    chosen = ChosenNode(node_of(node))
    if by_policy and chosen != policy.algorithm:
        note(f"{spell(chosen)} takes the place of {spell(policy.algorithm)}, which the policy says")
    return replace(policy, algorithm=chosen)


def _check_there(data: Path) -> None:
    """Raise `InputError` unless the file of --input exists; addresses and patterns are checked when they are read."""
    from indistinct.tables.addresses import is_elsewhere, no_file

    if "\0" not in str(data) and not (is_elsewhere(data) or glob.has_magic(str(data)) or data.exists()):
        raise no_file(data)


def _vary_policy(policy: "Policy", flags: Flags) -> "Policy":
    """Return a policy with the algorithm and the suppression that flags name; its models are replaced already."""
    from indistinct.algorithms.registry import parse_algorithm
    from indistinct.text_form import spell

    algorithm = policy.algorithm if flags.algorithm is None else parse_algorithm(flags.algorithm)
    budget = policy.suppression if flags.suppression is None else parse_budget(flags.suppression)
    model = policy.model.spec() if policy.model else "none"
    note(f"--instead overrides the policy: algorithm {spell(algorithm)}; model {model}; suppression limit {budget}")
    return replace(policy, algorithm=algorithm, suppression=budget)


def policy_of(
    table: "Path | DatabaseTable",
    flags: Flags,
    *,
    policy: Path | None = None,
    allowed: Collection[str] = (),
    schema: Schema | None = None,
    reading: "Reading | None" = None,
) -> "Policy":
    """Return the policy in a file, or one made of flags; roles and reading options may be given.

    Only the flags in `allowed` may be given together with a policy: the reviewed policy is what runs.
    """
    from indistinct.job.policy import read_policy

    if policy is None:
        return _with_population(_sampled(_from_flags(table, flags, schema, reading), flags), flags)
    repeated = [FLAGS[name].option for name in JOB if name not in allowed and getattr(flags, name) is not None]
    if repeated:
        replaceable = all(flag in {FLAGS[name].option for name in VARIED} for flag in repeated)
        raise ParameterError(
            f"the policy {policy} sets what {', '.join(repeated)} would set",
            hint=("add --instead to override the policy" if replaceable else "change the policy")
            + ", or name the data file and give everything as flags",
        )
    written = _with_population(read_policy(policy), flags)
    return replace(written, models=models_of(flags.model)) if flags.model else written


def _sampled(policy: "Policy", flags: Flags) -> "Policy":
    """Return a policy of a share of the rows, if flags name one."""
    if flags.sample is None:
        return policy
    from indistinct.job.sampling import check_share

    return replace(policy, input=replace(policy.input, sample=check_share(flags.sample)))


def _with_population(policy: "Policy", flags: Flags) -> "Policy":
    """Return a policy with the population that flags name, if they name one."""
    if flags.population is None:
        return policy
    return replace(policy, input=replace(policy.input, population=_absolute(flags.population)))


def _absolute(path: Path) -> Path:
    from indistinct.tables.addresses import is_elsewhere

    return path if is_elsewhere(path) else path.absolute()


def _from_flags(
    table: "Path | DatabaseTable", flags: Flags, schema: Schema | None, reading: "Reading | None"
) -> "Policy":
    """Build a policy from flags."""
    from indistinct.algorithms.auto import Auto
    from indistinct.algorithms.registry import parse_algorithm
    from indistinct.job.policy import Input, Policy, predicted_column

    roles = schema or Schema(
        **{role: names_of(getattr(flags, setting.name)) for role, setting in settings_under("schema").items()}
    )
    how = reading_of(flags, reading)
    return Policy(
        input=Input(table, how) if isinstance(table, Path) else Input(Path(), how, database=table),
        schema=roles,
        models=models_of(flags.model),
        hierarchies=hierarchies_of(flags.hierarchy),
        suppression=parse_budget(0 if flags.suppression is None else flags.suppression),
        algorithm=parse_algorithm(flags.algorithm) if flags.algorithm else Auto(),
        target=predicted_column(flags.target, (), schema=roles),
        transformations=transformations_of(flags.transform),
        pseudonyms=pseudonyms_of(flags.pseudonym),
        fresh=tuple(names_of(flags.fresh)),
        importance=importance_of_flags(flags.importance),
        levels=levels_of_flags(flags.levels),
        numeric=numeric_of_flags(flags.numeric),
    )


def no_model(*, published: bool = False) -> ParameterError:
    """Return the error of a job without a model, or of a check of a published table without one."""
    return ParameterError(
        "no model is given",
        hint="give the policy of the release, --policy policy.toml, or --model k-anonymity:k=5 and the roles"
        if published
        else "say what the release must satisfy, for example --model k-anonymity:k=5",
    )


def reading_of(flags: Flags, base: "Reading | None" = None) -> "Reading":
    """Return the reading options of flags, completed by those of `base`; an empty text is always missing."""
    from indistinct.tables.value import declare

    parsers: dict[str, Callable[[Any], Any]] = {
        "missing": lambda texts: _with_empty(by_column(texts)),
        "dates": date_formats_of,
        "types": _types,
        "text": names_of,
        "columns": names_of,
    }
    given = {key: getattr(flags, setting.name) for key, setting in settings_under("input.reading").items()}
    parsed = {
        key: parsers[key](value) if key in parsers else value for key, value in given.items() if value is not None
    }
    return declare(base, **parsed)


def _with_empty(missing: dict[str, list[str]]) -> dict[str, list[str]]:
    """Return NA strings by column, the empty one included for all of them."""
    from indistinct.tables.value import EVERY

    return {**missing, EVERY: ["", *missing.get(EVERY, ())]}


def _types(texts: Sequence[str]) -> dict[str, str]:
    """Parse types given as COLUMN=KIND."""
    types = {}
    for text in items_of(texts):
        column, _, kind = text.rpartition("=")
        if not column or not kind:
            raise ParameterError("a type must be written COLUMN=KIND", hint="for example --type zipcode=text")
        types[column] = kind
    return types


def read_table(
    policy: "Policy",
    path: Path | None = None,
    *,
    table: str | None = None,
    memory: str | None = None,
) -> "Table":
    """Return the table that a policy reads, or another one that is read in the same way, in `memory`."""
    from indistinct.engines import lives_elsewhere
    from indistinct.job import opening
    from indistinct.job.job import check_input
    from indistinct.tables import open_table

    check_input(policy, path)
    given = _place(path or policy.source)
    within: dict[str, Any] = {}
    if memory is not None and table is None and not lives_elsewhere(given):
        within = {"engine": "memory", "memory": memory}
    named = None if _names_table(given) else table
    source = opening.open(given, reading=policy.reading_at(path), table=named, **within)
    note_reading(source)
    return open_table(source)


def source_of(policy: "Policy", flags: Flags, path: Path | None = None) -> "Source":
    """Return the table that a policy reads, or another one that is read in the same way.

    The engine that a flag names or that suits it opens it. --table belongs to the table that the policy reads.
    """
    from indistinct.engines import open_source
    from indistinct.job.job import check_input

    check_input(policy, path)
    given, engine = _place(path or policy.source), flags.engine or "auto"
    table = None if path or _names_table(given) else flags.table
    _, source = open_source(given, policy.reading_at(path), engine=engine, memory=flags.memory, table=table)
    note_reading(source)
    return source


def _names_table(place: "str | Path | DatabaseTable") -> bool:
    """Return whether a place names the table of a database."""
    return not isinstance(place, str | Path)


def _place(path: "Path | DatabaseTable") -> "str | Path | DatabaseTable":
    """Return a path, or the address that it was before it lost one of the two strokes that an address begins with."""
    from indistinct.tables.addresses import address_of

    return address_of(path) or path if isinstance(path, Path) else path


def opened_population(policy: "Policy") -> "Table | None":
    """Return the population of a policy, read as its table is and not as the release; None if it has none."""
    from indistinct.job import opening
    from indistinct.release.verification.population import read_population

    path, reading = policy.population, policy.input.reading
    if path is None:
        return None
    table: Table = read_population(lambda how: opening.open(path, reading=how), reading.about, policy.schema)
    return table


def run_options(flags: Flags, policy: "Policy") -> "Changes":
    """Return the options of a run that no policy has: earlier releases, hidden counts, and how files are written.

    The table of an earlier release is read as its recoding says.
    """
    from indistinct.recoding.outputs import check_range_form

    return {
        "previous": flags.previous,
        "previous_input": flags.previous_input,
        "ledger": flags.ledger,
        "accept_overlap": bool(flags.accept_overlap),
        "fresh": names_of(flags.fresh),
        "smallest_count": flags.smallest_count,
        "ranges": None if flags.ranges is None else check_range_form(flags.ranges),
        "partition_by": names_of(flags.partition_by),
        "writing": writing_of(flags, policy),
        "memory": flags.memory,
    }


def writing_of(flags: Flags, policy: "Policy") -> "Writing":
    """Return how a text file is written: by flags, completed by the policy."""
    given = {key: getattr(flags, setting.name) for key, setting in settings_under("output.writing").items()}
    if given["delimiter"] in ("\\t", "tab"):
        given["delimiter"] = "\t"
    return replace(policy.output.writing, **{key: value for key, value in given.items() if value is not None})


def ledger_of(flags: Flags, policy: "Policy") -> Path | None:
    """Return the ledger that a flag names, else that of the policy."""
    from indistinct.job.job import ledger_of_policy

    return flags.ledger or ledger_of_policy(policy)


def earlier_files(flags: Flags, policy: "Policy") -> list[Path]:
    """Return the files of earlier releases and the ledger; none of them may be replaced."""
    from indistinct.recoding.storage import arrays_path

    recoding = [] if flags.previous is None else [flags.previous, arrays_path(flags.previous)]
    return [*recoding, *(each for each in (flags.previous_input, ledger_of(flags, policy)) if each is not None)]


def note_reading(table: "Source") -> None:
    """Print notes on skipped parts of a file, and on codes that may have been read as numbers."""
    for words in table.left_out:
        note(f"{words} left out")
    for words in table.notes:
        note(words)
    for name in table.respelled:
        note(f"column {name!r} spells one number in several ways, which are one value now; codes want --text {name}")


def preferred_analysis(prefer: str | None, formulas: list[str] | None, policy: "Policy") -> "AnalysisPlan | None":
    """Return the analyses that rank releases, None if a metric ranks them."""
    if prefer not in (None, "analysis"):
        raise ParameterError(f"`--prefer` must be analysis; got {prefer!r}", hint="--metric ranks by a metric")
    if formulas and prefer is None:
        raise ParameterError("--formula goes with --prefer analysis", hint="`indistinct analyze` compares a release")
    if prefer is None:
        return None
    return replace(policy.analysis, formulas=tuple(formulas)) if formulas else policy.analysis


def is_linked(policy: Path | str | None) -> bool:
    """Return whether a file is a policy of several tables; every other one goes the way of one table."""
    if policy is None or Path(policy).suffix.lower() != ".toml":
        return False
    from indistinct.job.policy.reading import is_linked_policy

    return is_linked_policy(policy)
