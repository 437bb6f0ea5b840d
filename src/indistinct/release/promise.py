"""Checks around a search: the privacy model that a release must satisfy, and whether columns have the right types."""

import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indistinct.algorithms.base import Algorithm
from indistinct.engines.base import Source
from indistinct.errors import InputError, ParameterError
from indistinct.figures import plural
from indistinct.frequencies.count import Counted
from indistinct.hierarchy.value import Hierarchy
from indistinct.models import KAnonymity, Model
from indistinct.models.of_people import in_people
from indistinct.models.registry import parse_model
from indistinct.recoding.kinds import Recoding
from indistinct.schema import Schema, require_schema
from indistinct.tables.dictionaries import is_text
from indistinct.tables.domain import Kind
from indistinct.tables.inference import mixture_of, spellings
from indistinct.tables.notation import MAX_TEXTS_JUDGED, Notation, is_time, likely_notation, plain_numbers
from indistinct.tables.opening import where_in
from indistinct.tables.several import is_delimited
from indistinct.tables.value import Reading, is_table


def promised_model(model: Model | str | None, algorithm: Algorithm, schema: Schema) -> Model:
    """Return the model of a release: the requested one and the algorithm's own guarantee."""
    require_schema(schema)
    asked = parse_model(model) if isinstance(model, str) else model
    own = algorithm.promise()
    if asked is None and own is None:
        raise ParameterError(
            f"no model is given, and {algorithm.name} has no privacy guarantee of its own",
            hint="say what the release must satisfy, for example model=ind.KAnonymity(k=5)",
        )
    given = () if asked is None else asked.parts()
    implied = () if own is None else own.parts()
    for mine in (part for part in implied if part.of_links):
        for part in given:
            if part.of_links and part.smallest != mine.smallest:
                raise ParameterError(
                    f"the model asks for l = {part.smallest}, and {algorithm.name} for l = {mine.smallest}",
                    hint="give both the same l, or leave the model out: the algorithm implies it",
                )
    if not schema.sensitive:
        implied = tuple(part for part in implied if not part.of_links)
    parts = tuple(
        dict.fromkeys(part for each in (*implied, *given) for part in each.resolved(schema.sensitive).parts())
    )
    wanted: Model = KAnonymity(1) if not parts else parts[0]
    for part in parts[1:]:
        wanted = wanted & part
    wanted.require_quasi(schema.quasi)
    algorithm.require_roles(schema, wanted)
    return in_people(wanted, schema.person)


def judging(model: Model | str, schema: Schema) -> Model:
    """Return a model as it judges tables with these roles: for every sensitive column, and in people or rows."""
    require_schema(schema)
    parsed = parse_model(model) if isinstance(model, str) else model
    parsed.require_quasi(schema.quasi)
    return in_people(parsed.resolved(schema.sensitive), schema.person)


def promise_of(recoding: Recoding, model: Model | str | None) -> tuple[Schema, Model]:
    """Return the roles of a recoding's columns, and the model of its next release: the given one, or its own."""
    schema, asked = recoding.schema, model or recoding.promise
    if schema is None:
        raise ParameterError("the recoding does not say which roles the columns have", hint="use a release's recoding")
    if asked is None:
        raise ParameterError("the recoding does not state which privacy models it satisfies", hint="pass model=…")
    return schema, judging(asked, schema)


GROUPED = Notation(decimal=",", thousands=".")
"""What a column probably is that was read as numbers with three decimals, or with none."""


def check_notations(source: Source, columns: Iterable[str], *, hierarchies: Mapping[str, Hierarchy]) -> None:
    """Raise if a column is probably dates or numbers in a notation that was not declared.

    A column that was declared to be text may look as it likes, and so may one with a hierarchy of names.
    """
    data, samples = source.in_memory, source.samples or {}
    if data is None and not samples:
        return
    declared = {*source.reading.text, *(name for name, each in hierarchies.items() if each.categorical)}
    declared |= {name for name, kind in source.reading.types.items()}
    for name in dict.fromkeys(columns):
        if name in source.columns and name not in declared:
            texts = samples.get(name, pa.array([], pa.string())) if data is None else _texts_of(data[name])
            likely = GROUPED if name in source.grouped else likely_notation(texts)
            if likely is not None:
                raise (
                    _stray(source, name, likely) if _is_declared(likely, source.reading) else _undeclared(name, likely)
                )
            if source.reading.decimal not in (None, ".") and len(texts):
                _check_points(name, texts)


def _texts_of(column: pa.ChunkedArray) -> pa.Array:
    """Return texts that show how a column is written: its distinct texts, or the first of very many."""
    if not is_text(column.type):
        return pa.array([], pa.string())
    if isinstance(column.type, pa.DictionaryType):
        return spellings(column).combine_chunks()
    return column.slice(0, MAX_TEXTS_JUDGED).combine_chunks().unique().cast(pa.string())


def settle_reading(source: Source, columns: Iterable[str]) -> Reading:
    """Return the reading options of a text file with the inferred types, so that another file is read alike.

    A single stray text in next month's file would else make text of numbers, and change what is published.
    """
    reading = replace(source.reading, version=None)  # that of the first table says nothing of another one
    if not any(map(is_delimited, source.files)):
        return reading
    schema = source.arrow
    declared = {*reading.named_columns}
    kinds = {name: _kind_word(schema.field(name).type) for name in columns if name not in declared}
    types = {name: kind for name, kind in kinds.items() if kind is not None}
    return replace(reading, types={**reading.types, **types})


def _kind_word(kind: pa.DataType) -> str | None:
    """Return the word that declares an Arrow type, None for text and for types without a word."""
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return "number"
    return "date" if pa.types.is_date(kind) else "datetime" if pa.types.is_timestamp(kind) else None


def check_same_kinds(recoding: Recoding, source: Source) -> None:
    """Raise if a column that had numbers or dates when a recoding was found has something else now."""
    declared = {} if recoding.reading is None else recoding.reading.types
    numbers, dates = ("number", "plain-number", "integer"), ("date", "datetime")
    wanted = {**dict.fromkeys(numbers, Kind.NUMBER), **dict.fromkeys(dates, Kind.DATE)}
    for name, word in declared.items():
        if name in source.columns and wanted.get(word, source.kinds[name]) is not source.kinds[name]:
            raise InputError(
                f"column {name!r} had {word}s in the first table, and has {source.kinds[name]} here",
                hint="read it as the first one was: give the path, or open it with the same declarations",
                column=name,
            )


def reading_again(recoding: Recoding) -> Reading:
    """Return the reading options for a table that a recoding is applied to: those of the first table."""
    reading = recoding.reading or Reading()
    # Hours of a day count as text, but are read by their format.
    if any(map(is_time, (*reading.dates, *reading.dates_in.values()))):
        return reading
    texts = [domain.column for domain in recoding.recoded_domains if domain.kind is Kind.TEXT]
    plain = [name for name in texts if name not in reading.types and name not in reading.dates_in]
    return replace(reading, text=tuple(dict.fromkeys((*reading.text, *plain))))


def _check_points(name: str, texts: pa.Array) -> None:
    """Raise if a column has numbers with a decimal point where another decimal mark was declared."""
    if plain_numbers(texts, None, None).null_count == 0 and pc.any(pc.match_substring(texts, ".")).as_py():
        raise InputError(
            f"column {name!r} looks like numbers with a decimal point, but another decimal mark was declared",
            hint=f"say what it is: --type {name}=plain-number or --text {name}, or `types` and `text` under [input]",
            column=name,
        )


def _is_declared(likely: Notation, reading: Reading) -> bool:
    """Return whether the notation of a column was declared, so that only single cells keep it from being numbers."""
    marks = (likely.decimal, reading.decimal), (likely.thousands, reading.thousands)
    same = all(mark in (None, declared) for mark, declared in marks)
    return bool(likely.strangers) and same and likely.what == "numbers" and not likely.signed


def _stray(table: Source, name: str, likely: Notation) -> InputError:
    """Return the error about single cells that are no numbers, which says where they are and not what they hold."""
    hint = (
        "correct them, or declare them as marks for missing values (--missing, or `missing` under [input]); if "
        f"the column is text, declare that: `text = [{name!r}]`, or `--text {name}`"
    )
    if not is_table(table):  # its cells are not at hand
        return InputError(
            f"cells of column {name!r} are not numbers in the declared notation; so the column would be text",
            hint=hint,
            values=likely.strangers,
            column=name,
        )
    strange = pc.is_in(table.data[name].cast(pa.string()), value_set=pa.array(likely.strangers, pa.string()))
    rows = np.flatnonzero(strange.to_numpy())
    where, numbers = where_in(table, rows)
    cells, are = ("cell", "is not a number") if len(rows) == 1 else ("cells", "are not numbers")
    return InputError(
        f"{len(rows):,} {cells} of column {name!r}, on {where}, {are} in the declared notation; so the column would be "
        "text",
        hint=hint,
        values=likely.strangers,
        column=name,
        lines=numbers,
    )


def _undeclared(name: str, likely: Notation) -> InputError:
    """Return the error of a column in a notation that must be declared."""
    if likely.eras:
        return InputError(
            f"column {name!r} looks like {likely.what}, which cannot be read; as text they would be sorted by their "
            "first character",
            hint=f"write them as 1979-06-05, or declare the column as text: `text = [{name!r}]`, or `--text {name}`",
            column=name,
        )
    lines, flags = (" or ".join(f"`{one}`" for one in each) for each in (likely.lines(name), likely.flags(name)))
    which = "" if len(likely.lines(name)) == 1 else ", whichever is right"
    stray = f", besides {plural(len(likely.strangers), 'distinct value')} that may be marks for missing" * bool(
        likely.strangers
    )
    marks = f"; marks for missing too: --missing {shlex.quote(f'{name}=MARK')}, or `missing` under [input]"
    return InputError(
        f"column {name!r} looks like {likely.what} in a notation that was not declared{stray}; as text they would be "
        "sorted by their first character",
        hint=f"declare it: {lines} under [input], or {flags}{which}{marks * bool(stray)}; if it is text, declare "
        f"that: `text = [{name!r}]`, or `--text {name}`",
        values=likely.strangers,
        column=name,
    )


def check_kinds(counted: Counted, model: Model, *, known: Collection[str]) -> tuple[str, ...]:
    """Return warnings of columns that a model orders; raise if a column is not what a search takes it for.

    A quasi-identifier that is mostly numbers or dates, but not only, is refused unless it is `known` to be text.
    """
    for domain in counted.domains:
        if domain.kind is not Kind.TEXT or domain.column in known:
            continue
        slip = mixture_of(domain.values)
        if slip is not None:
            kind, strangers = slip
            few = (
                f"mixes {kind} and text: {len(strangers)} of its {len(domain.values)} distinct values cannot be read as"
            )
            none = f"looks like {kind}, but none of its {len(domain.values)} distinct values is written plainly as"
            raise InputError(
                f"column {domain.column!r} {few if len(strangers) < len(domain.values) else none} {kind}, so it cannot "
                "be published as ranges",
                hint=f"{_blanks(strangers)}declare marks for missing values (--missing, or `missing` under [input]), "
                "correct the cells, or "
                f"say that {domain.column!r} is text (--text, or `text` under [input]; or a hierarchy)",
                values=strangers,
                column=domain.column,
            )
    return check_orders(counted, model)


def _blanks(strangers: Sequence[str]) -> str:
    """Return a hint if blanks prevent texts from being read as numbers or dates."""
    return "take off blanks around fields (--trim, trim=True), " * any(text != text.strip() for text in strangers)


def check_orders(counted: Counted, model: Model) -> tuple[str, ...]:
    """Return a warning for each column of text that a model orders as text.

    Raises where most of the texts begin with a digit: 9 would come after 10, and the guarantee would not be true.
    """
    notes = []
    for (name,) in model.ordered:
        domain = counted.known[name]
        if domain.kind is not Kind.TEXT or domain.declared:
            continue
        digits = pc.sum(pc.match_substring_regex(domain.values.cast(pa.string()), "^[^A-Za-z]?[0-9]")).as_py() or 0
        if 2 * digits > len(domain.values):
            raise InputError(
                f"{model.spec()} looks at the order of column {name!r}, which is text: 9 would come after 10",
                hint="let it be read as numbers or dates (correct the cells, or declare marks for missing), declare "
                "its order as its hierarchy (order), or use distance=equal",
                column=name,
            )
        notes.append(f"the texts of {name!r} were ordered as text, because no order was declared")
    return tuple(notes)
