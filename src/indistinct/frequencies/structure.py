"""The structure of a release: classes, in whose rows all columns stay together, or buckets, which separate slices.

A module that reads a release asks this value for a property, and not which of the two it is.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Literal

from indistinct.errors import IndistinctError, ParameterError
from indistinct.schema import BUCKET, COUNT, Schema

Form = Literal["sliced", "tables", "multiset"]
Unit = Literal["class", "bucket"]
Units = Literal["classes", "buckets"]


@dataclass(frozen=True, slots=True)
class Structure:
    """How a release shows its rows, as far as readers must know: no value of the table is in it.

    This is the structure of classes, in which everything in a row stays together. `form` is what certificates call the
    way in which buckets are shown. `slices` are the attributes that stay together inside a bucket, and `generalized`
    names those of them whose values were recoded before. Classes have none of the three.
    """

    form: Form | None = None
    slices: tuple[tuple[str, ...], ...] = ()
    generalized: tuple[str, ...] = ()

    @property
    def unit(self) -> Unit:
        """What a row's candidates are called: those of its class, or of its bucket."""
        return unit_of(self.form)

    @property
    def units(self) -> Units:
        """The same word for several."""
        return units_of(self.form)

    @property
    def buckets(self) -> "Buckets | None":
        """The same value where links are broken inside buckets, None for classes."""
        return None

    @property
    def whole_rows(self) -> bool:
        """Whether everything in a row stays together, so that a row can be compared with one of the original."""
        return True

    @property
    def multisets(self) -> bool:
        """Whether a cell shows all values of its bucket, so that no row of quasi-identifiers is published."""
        return self.form == "multiset"

    @property
    def two_tables(self) -> bool:
        """Whether sensitive values are published in a table of their own."""
        return self.form == "tables"

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes of all slices."""
        return tuple(name for names in self.slices for name in names)

    @property
    def added_columns(self) -> tuple[str, ...]:
        """The columns that a release has in addition to those of the original."""
        return ()

    @property
    def unmeasured(self) -> str | None:
        """Why metrics of recoded values are not measured, None where they are."""
        return None

    @property
    def hides_rows(self) -> bool:
        """Whether a unit hides which of its rows is a person's, so that its size bounds the risk of being found."""
        return True

    @property
    def unused_population(self) -> str | None:
        """Why a population says nothing of the risk, None where it does."""
        return None

    @property
    def told_by_algorithm(self) -> bool:
        """Whether a verifier must be given the algorithm, without which the file is judged as classes."""
        return False

    @property
    def limits(self) -> tuple[str, ...]:
        """What the guarantee does not cover because of the structure, in sentences."""
        return ()

    def links(self, names: Collection[str]) -> bool:
        """Return whether rows show some columns together, as the original's rows do."""
        return True

    def recoded(self, schema: Schema) -> tuple[str, ...]:
        """Return the columns whose values were recoded."""
        return tuple(schema.quasi)

    def labeled(self, schema: Schema) -> tuple[str, ...]:
        """Return the columns that show labels; raise `ParameterError` where values are unmodified throughout."""
        return self.recoded(schema)

    def treatment(self, name: str) -> str | None:
        """Return in words what bucketization did to a column, None where its role and its recoding say it all."""
        return None

    def require_classes(self, otherwise: IndistinctError) -> None:
        """Raise an error, which gives the reason, where links are broken inside buckets."""


CLASSES = Structure()
"""The structure of a release in equivalence classes."""


@dataclass(frozen=True, slots=True)
class Buckets(Structure):
    """How a release shows its buckets, as far as readers must know: no value of the table is in it.

    `slices` are the attributes that stay together; `generalized` names those whose values were recoded before.
    """

    form: Form
    slices: tuple[tuple[str, ...], ...]
    generalized: tuple[str, ...] = ()

    @property
    def buckets(self) -> "Buckets":
        """The same value: links are broken inside buckets."""
        return self

    @property
    def whole_rows(self) -> bool:
        """Whether everything in a row stays together: not across slices."""
        return False

    @property
    def added_columns(self) -> tuple[str, ...]:
        """The numbers of buckets, and how often a sensitive value occurs in one."""
        return (BUCKET, COUNT)

    @property
    def unmeasured(self) -> str:
        """Why metrics of recoded values are not measured."""
        return "values are not recoded in buckets: only what speaks of buckets is measured"

    @property
    def hides_rows(self) -> bool:
        """Whether a unit hides which of its rows is a person's: quasi-identifiers in buckets are unmodified."""
        return False

    @property
    def unused_population(self) -> str:
        """Why a population says nothing of the risk."""
        return (
            "The population was not used: buckets show quasi-identifiers unmodified, and population matches hide no "
            "row."
        )

    @property
    def told_by_algorithm(self) -> bool:
        """Whether a verifier must be given the algorithm: a forged certificate could claim that rows are in buckets."""
        return True

    @property
    def limits(self) -> tuple[str, ...]:
        """What the guarantee does not cover."""
        return ("In buckets, quasi-identifiers may be unmodified: who is in the table may be seen.",)

    def links(self, names: Collection[str]) -> bool:
        """Return whether columns are in one slice, or one column alone is asked about."""
        return len(names) <= 1 or any(set(names) <= set(own) for own in self.slices)

    def recoded(self, schema: Schema) -> tuple[str, ...]:
        """Return the columns that were generalized before links were broken."""
        return tuple(self.generalized)

    def labeled(self, schema: Schema) -> tuple[str, ...]:
        """Return the columns that show labels."""
        if not self.generalized:
            raise ParameterError(
                "a release in buckets shows unmodified values: it has no labels",
                hint="its bucket says what belongs together",
            )
        return self.recoded(schema)

    def treatment(self, name: str) -> str:
        """Return in words what bucketization did to a column."""
        if name in self.generalized:
            return "generalized, and its links to other columns broken inside buckets"
        return "values unmodified; links to other columns broken inside buckets"

    def require_classes(self, otherwise: IndistinctError) -> None:
        """Raise the error: releases in buckets have no classes."""
        raise otherwise


def unit_of(form: str | None) -> Unit:
    """Return what a row's candidates are called in a release of the form that its certificate names."""
    return "class" if form is None else "bucket"


def units_of(form: str | None) -> Units:
    """Return the same word for several: classes, or buckets."""
    return "classes" if form is None else "buckets"


def structure_of(form: object, slices: Iterable[Iterable[str]], generalized: Iterable[str]) -> Structure:
    """Return the structure that a certificate, or a caller, describes; one without a known form is that of classes."""
    match form:
        case "sliced" | "tables" | "multiset":
            return Buckets(form, tuple(map(tuple, slices)), tuple(generalized))
        case _:
            return CLASSES
