"""Reading tables: the contents of a file or a frame, as the columns that engines count and recodings change."""

from indistinct.tables.opening import open_table
from indistinct.tables.value import Reading, Table

__all__ = ["Reading", "Table", "open_table"]
