"""What all algorithms of bucketization count, and what they cannot publish."""

from collections.abc import Mapping, Sequence

from indistinct.algorithms.base import Algorithm
from indistinct.errors import IndistinctError, SchemaError
from indistinct.frequencies.count import Request
from indistinct.frequencies.value import Key
from indistinct.hierarchy.value import Hierarchy
from indistinct.models.base import Model
from indistinct.recoding.columns import QuasiColumn
from indistinct.schema import BUCKET, COUNT, Schema


class Bucketization(Algorithm):
    """A search that puts rows into buckets, inside which slices are permuted, and leaves values unmodified."""

    __slots__ = ()

    @property
    def weighs_columns(self) -> bool:
        """Whether the search rather changes columns that matter less: it changes no values."""
        return False

    def publishes_hierarchy(self, column: QuasiColumn) -> bool:
        """Return whether releases show values of the hierarchy of a column: values are unmodified."""
        return False

    def require_classes(self, otherwise: IndistinctError) -> None:
        """Raise the error: releases are in buckets."""
        raise otherwise

    def require_roles(self, schema: Schema, model: Model) -> None:
        """Raise for columns that a release in buckets cannot have, and for a model of what it does not show."""
        if schema.person:
            raise SchemaError(
                f"{self.name} publishes buckets and cannot count people",
                hint="give the column the role identifier and keep one row a person, or use an algorithm with classes",
            )
        for name in (BUCKET, COUNT):
            if name in schema.published:
                raise SchemaError(
                    f"a release in buckets adds a column {name!r}, and the table has one already",
                    hint="rename the column",
                )
        for name in (name for key in model.keys for name in key):
            if name in schema.identifiers:
                raise SchemaError(
                    f"a release in buckets cannot be checked for column {name!r}, which is not published",
                    hint=f"leave the model out: {self.name} has a privacy guarantee of its own",
                )

    def separated(self, schema: Schema) -> tuple[str, ...]:
        """Return the columns that a release separates from the others."""
        return tuple(schema.sensitive)

    def request(
        self, schema: Schema, keys: Sequence[Key], hierarchies: Mapping[str, Hierarchy], *, to_publish: Sequence[str]
    ) -> Request:
        """Return what is counted for the search: every column, the sensitive ones together."""
        keys = tuple(dict.fromkeys([*((name,) for name in schema.sensitive), *keys]))
        known = (*schema.quasi, *schema.insensitive)
        return Request(known, keys, hierarchies, joint=bool(keys), to_publish=to_publish)
