"""What a release promises: the model that is asked for, and what its algorithm promises by itself."""

from indistinct.algorithms.base import Algorithm
from indistinct.errors import ParameterError, SchemaError
from indistinct.models import KAnonymity, Model
from indistinct.models.of_people import in_people
from indistinct.models.registry import parse_model
from indistinct.recoding.kinds import Recoding
from indistinct.schema import BUCKET, COUNT, Schema, require_schema


def promised_model(model: Model | str | None, algorithm: Algorithm, schema: Schema) -> Model:
    """Return what a release must satisfy: the model that is asked for, and what the algorithm promises by itself."""
    require_schema(schema)
    asked = parse_model(model) if isinstance(model, str) else model
    own = algorithm.promise()
    if asked is None and own is None:
        raise ParameterError(f"{algorithm.name} needs a model", hint="for example model=KAnonymity(5)")
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
    if algorithm.traits.buckets:
        _check_buckets(schema, wanted, algorithm)
    return in_people(wanted, schema.person)


def judging(model: Model | str, schema: Schema) -> Model:
    """Return a model as it judges tables with these roles: for every sensitive column, and in people or rows."""
    require_schema(schema)
    parsed = parse_model(model) if isinstance(model, str) else model
    return in_people(parsed.resolved(schema.sensitive), schema.person)


def _check_buckets(schema: Schema, model: Model, algorithm: Algorithm) -> None:
    """Raise for columns that a release in buckets cannot have, and for a model that looks at what it does not show."""
    if schema.person:
        raise SchemaError(
            f"{algorithm.name} breaks links between rows and cannot count people",
            hint="give the column the role identifier and keep one row a person, or use an algorithm with classes",
        )
    for name in (BUCKET, COUNT):
        if name in schema.published:
            raise SchemaError(
                f"a release in buckets adds a column {name!r}, and the table has one already", hint="rename the column"
            )
    for name in (name for key in model.keys for name in key):
        if name in schema.identifiers:
            raise SchemaError(
                f"a release in buckets cannot be checked for column {name!r}, which is not published",
                hint=f"leave the model out: {algorithm.name} makes a promise by itself",
            )


def promise_of(recoding: Recoding, model: Model | str | None) -> tuple[Schema, Model]:
    """Return the roles of a recoding's columns, and what its next release must satisfy: a model, or its promise."""
    schema, asked = recoding.schema, model or recoding.promise
    if schema is None:
        raise ParameterError("the recoding does not say which roles the columns have", hint="use a release's recoding")
    if asked is None:
        raise ParameterError("the recoding does not say what it promised", hint="pass model=…")
    return schema, judging(asked, schema)
