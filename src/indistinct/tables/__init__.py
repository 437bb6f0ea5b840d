"""Tables in: what a file or a frame holds, as the columns that engines count and recodings change."""

from indistinct.tables.opening import open_table
from indistinct.tables.value import Reading, Table

__all__ = ["Reading", "Table", "open_table"]
