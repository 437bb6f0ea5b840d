"""What a published table from anywhere is compared with: its original, counted as far as a check needs it."""

from collections.abc import Mapping
from typing import Any

from indistinct.engines import open_source
from indistinct.frequencies.count import Counted
from indistinct.frequencies.request import Request
from indistinct.hierarchy import Hierarchy
from indistinct.models.base import Model
from indistinct.recoding.kinds import Recoding
from indistinct.recoding.outputs import MAIN, Assignment, Buckets
from indistinct.release.kinds import check_notations
from indistinct.release.opened import OpenedTables
from indistinct.release.reading import require_original
from indistinct.release.verification.by_label import classes_by_label, classes_by_recoding, nobody_shown
from indistinct.schema import Schema


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
    """Return what was counted on an original by published class, with its people.

    Without an original there is nothing, which will do where the release has `shown` people by their pseudonyms.
    """
    main = published.sources[MAIN]
    if published.buckets is not None or (original is None and not shown):
        raise nobody_shown(in_buckets=published.buckets is not None)
    if original is None:
        return None, None
    if recoding is None:
        return classes_by_label(main, original, schema, model.table_keys, hierarchies=hierarchies)
    return classes_by_recoding(main, original, schema, model, recoding=recoding)


def reference_of(
    original: Any, schema: Schema, model: Model, *, buckets: Buckets | None, hierarchies: Mapping[str, Hierarchy]
) -> Counted:
    """Count an original as far as the check of its release needs it."""
    engine, source = open_source(original)
    check_notations(source, [name for key in model.table_keys for name in key], hierarchies=hierarchies)
    if buckets is None:
        keys = tuple(key for key in model.keys if all(name in source.columns for name in key))
        some = dict.fromkeys(name for key in keys for name in key) or schema.quasi[:1]
        return engine.count(source, Request(tuple(some), keys, hierarchies, published=True))
    require_original(buckets, source.columns)
    keys = tuple(dict.fromkeys([*((name,) for name in schema.sensitive), *model.table_keys]))
    known = (*schema.quasi, *schema.insensitive)
    return engine.count(source, Request(known, keys, hierarchies, joint=bool(keys), published=True))
