"""Tables that engines, formats and verbs must survive: missing values in every type, odd texts, odd files."""

import numpy as np
import pyarrow as pa


def with_slots(array: pa.DictionaryArray, slot: int) -> pa.DictionaryArray:
    """Return a dictionary array whose missing cells have an index of your choice in their slots.

    Arrow leaves undefined numbers there when it reads a Parquet file.
    """
    kind = array.indices.type.to_pandas_dtype()
    absent = array.indices.is_null().to_numpy(zero_copy_only=False)
    cells = np.where(absent, slot, array.indices.fill_null(0).to_numpy()).astype(kind)
    valid = pa.array(~absent).buffers()[1]
    indices = pa.Array.from_buffers(array.indices.type, len(array), [valid, pa.py_buffer(cells)])
    return pa.DictionaryArray.from_arrays(indices, array.dictionary, ordered=array.type.ordered, safe=False)
