"""Which original rows a published class may have, for checks that a published table cannot answer: people.

People are counted on the original, by what was published of their rows. That takes the recoding, or labels that leave
no doubt: every original combination of values lies in one published label, or in none if its rows were suppressed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from indistinct.engines import open_source
from indistinct.engines.base import Source
from indistinct.engines.groups import groups_of
from indistinct.errors import InputError
from indistinct.frequencies.count import Counted, Request
from indistinct.frequencies.structure import Structure
from indistinct.frequencies.value import Key
from indistinct.hierarchy.value import Hierarchy
from indistinct.models.base import Model
from indistinct.recoding.assign import class_layout
from indistinct.recoding.columns import columns_of
from indistinct.recoding.kinds import Recoding
from indistinct.recoding.outputs import MAIN, Assignment
from indistinct.release.fit import fit, repair
from indistinct.release.opening import OpenedTables, require_original
from indistinct.release.promise import check_notations, reading_again
from indistinct.release.verification.evidence import require_columns
from indistinct.schema import Schema
from indistinct.view.cover import classes_of_cells
from indistinct.view.read_back import cover_of_read, output_names, read_back, read_columns


def classes_by_recoding(
    published: Source, original: Any, schema: Schema, model: Model, *, recoding: Recoding
) -> tuple[Counted, Assignment]:
    """Count the original, and assign its cells to classes by a recoding.

    Where the release has fewer rows than that makes, classes that break the model were suppressed.
    """
    if not recoding.reusable:
        raise InputError(
            "this recoding parts rows with equal values, so that people were verified at publication only",
            hint="the certificate next to the release says which guarantees were satisfied; strict partitioning can "
            "be verified again",
        )
    engine, source = open_source(original, reading_again(recoding))
    _require(schema, source)
    made = fit(engine, source, replace(recoding, schema=schema), keys=model.table_keys)
    if made.rows - made.assignment.suppressed == published.rows:
        return made.counted, made.assignment
    return made.counted, repair(made, model).assignment or made.assignment


def classes_by_label(
    published: Any, original: Any, schema: Schema, keys: Sequence[Key], *, hierarchies: Mapping[str, Hierarchy]
) -> tuple[Counted, Assignment]:
    """Count the original, and assign each cell to the one published class whose label fits."""
    engine, source = open_source(original)
    _require(schema, source)
    request = Request(schema.quasi, tuple(keys), hierarchies, person=schema.person)
    counted = engine.count(source, request)
    columns = columns_of(counted.domains, {name: h for name, h in hierarchies.items() if name in schema.quasi})
    release = open_source(published)[1]
    groups = groups_of(release, [name for each in columns for name in output_names(release.columns, each.name, schema)])
    read, cells = read_columns(groups.table, columns, schema), counted.frequencies
    shows = read_back(groups.table, columns, frequencies=cells, schema=schema, counts=groups.counts, read=read)
    class_ids = classes_of_cells(cells, cover_of_read(read, columns))
    assignment = replace(
        shows,
        cells=np.arange(len(class_ids), dtype=np.int32),
        class_ids=class_ids,
        counts=counted.frequencies.counts,
        classes=counted.frequencies.classes.regroup(class_ids, len(shows.values)),
    )
    return counted, replace(assignment, layout=class_layout(assignment, schema))


def _require(schema: Schema, original: Source) -> None:
    """Raise unless an original has every published column and every person column."""
    require_columns((*schema.person, *schema.published), original.columns, table="original")


def nobody_shown() -> InputError:
    """Return the error of a check that must count people on a release that does not identify them."""
    return InputError(
        "people cannot be counted on a release, which does not show who they are",
        hint="give the original (--original, or original=…); to count rows, give the column the role identifier",
    )


def no_people_in_buckets() -> InputError:
    """Return the error of a check that must count people on a release in buckets."""
    return InputError(
        "people cannot be counted in buckets, which remove the links between rows",
        hint="to count rows, give the column the role identifier",
    )


def people_by_class(
    published: OpenedTables,
    schema: Schema,
    model: Model,
    original: Any,
    *,
    recoding: Recoding | None,
    hierarchies: Mapping[str, Hierarchy],
    shown: bool = False,
) -> tuple[Counted | None, Assignment | None]:
    """Count the people of an original by published class.

    Without an original there is nothing, which will do where the release has `shown` people by their pseudonyms.
    """
    main = published.sources[MAIN]
    published.structure.require_classes(no_people_in_buckets())
    if original is None:
        if not shown:
            raise nobody_shown()
        return None, None
    if recoding is None:
        return classes_by_label(main, original, schema, model.table_keys, hierarchies=hierarchies)
    return classes_by_recoding(main, original, schema, model, recoding=recoding)


def reference_of(
    original: Any, schema: Schema, model: Model, *, structure: Structure, hierarchies: Mapping[str, Hierarchy]
) -> Counted:
    """Count the columns of an original that the check of its release needs."""
    engine, source = open_source(original)
    check_notations(source, [name for key in model.table_keys for name in key], hierarchies=hierarchies)
    if structure.whole_rows:
        keys = tuple(key for key in model.keys if all(name in source.columns for name in key))
        some = dict.fromkeys(name for key in keys for name in key) or schema.quasi[:1]
        return engine.count(source, Request(tuple(some), keys, hierarchies, published=True))
    require_original(structure, source.columns)
    keys = tuple(dict.fromkeys([*((name,) for name in schema.sensitive), *model.table_keys]))
    known = (*schema.quasi, *schema.insensitive)
    return engine.count(source, Request(known, keys, hierarchies, joint=bool(keys), published=True))
