"""The engine for tables that fit in memory: Arrow columns, NumPy and Numba."""

from dataclasses import dataclass

import pyarrow as pa

from indistinct.engines.base import Published, Request
from indistinct.engines.memory.apply import apply_recoding
from indistinct.engines.memory.buckets import apply_buckets
from indistinct.engines.memory.count import count_table
from indistinct.frequencies.count import Counted
from indistinct.recoding.kinds import ByBucket, Recoding
from indistinct.schema import Schema

__all__ = ["Memory"]


@dataclass(frozen=True, slots=True)
class Memory:
    """Counts and applies in this process."""

    name: str = "memory"

    def count(self, table: pa.Table, request: Request) -> Counted:
        """Return the cells of a table."""
        return count_table(table, request)

    def apply(
        self,
        recoding: Recoding,
        table: pa.Table,
        *,
        schema: Schema,
        seed: int | None = None,
        counted: Counted | None = None,
    ) -> Published:
        """Return the published table; `counted` saves the count if the search just made it."""
        if isinstance(recoding, ByBucket):
            return apply_buckets(recoding, table, schema=schema, seed=seed, counted=counted)
        return apply_recoding(recoding, table, schema=schema, seed=seed, counted=counted)

    def supports(self, recoding: Recoding) -> bool:
        """Every kind of recoding can be applied in memory."""
        return isinstance(recoding, Recoding)
