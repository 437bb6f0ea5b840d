"""Tables in: whatever a file or a frame library holds, as the columns that engines count and recodings change."""

from indistinct.tables.opening import open_table
from indistinct.tables.value import Table

__all__ = ["Table", "open_table"]
