"""Every check of a published file by its name. Being registered is being tested."""

from collections.abc import Mapping
from types import MappingProxyType

from indistinct.study.scan import (
    another_table,
    arrow,
    categories,
    columns,
    containers,
    labels,
    metadata,
    order,
    parquet,
    pickles,
    statistics,
    text,
    values,
    workbooks,
)
from indistinct.study.scan.base import Check

_FAMILIES = (
    columns,
    another_table,
    order,
    values,
    labels,
    categories,
    metadata,
    parquet,
    arrow,
    text,
    containers,
    workbooks,
    statistics,
    pickles,
)
CHECKS: Mapping[str, Check] = MappingProxyType({check.name: check for family in _FAMILIES for check in family.CHECKS})
