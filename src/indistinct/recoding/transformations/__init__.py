"""Transformations: what is published of sensitive and insensitive columns, which no recoding touches."""

from indistinct.recoding.transformations.columns import Transformed, transformed_columns
from indistinct.recoding.transformations.outputs import may_come_of
from indistinct.recoding.transformations.value import (
    Transformation,
    check_role,
    check_transformations,
    kept_hierarchies,
    parse_transformation,
    transformation_from_options,
)

__all__ = [
    "Transformation",
    "Transformed",
    "check_role",
    "check_transformations",
    "kept_hierarchies",
    "may_come_of",
    "parse_transformation",
    "transformation_from_options",
    "transformed_columns",
]
