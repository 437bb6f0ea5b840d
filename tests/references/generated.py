"""What tests ask of tables and hierarchies that the project generates or knows."""

import pyarrow as pa
import pyarrow.compute as pc

from indistinct.tables.domain import Domain


def distinct_vectors(table: pa.Table, columns: tuple[str, ...]) -> int:
    return table.select(columns).group_by(list(columns)).aggregate([]).num_rows


def heights_of(hierarchies, table: pa.Table) -> dict[str, int]:
    """Return the height of each hierarchy over the table's values."""
    heights = {}
    for column, hierarchy in hierarchies.items():
        values = table[column].unique().drop_null()
        if isinstance(values.type, pa.DictionaryType):
            values = values.cast(values.type.value_type)
        domain = Domain(column, values.take(pc.sort_indices(values)), missing=table[column].null_count > 0)
        heights[column] = hierarchy.bind(domain).height
    return heights
