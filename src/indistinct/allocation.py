"""Memory for large arrays that are filled at once."""

from typing import Any

import numpy as np
import pyarrow as pa

# Smaller arrays fit the heap that is there already.
LARGE = 1 << 20


def room(size: int, kind: Any) -> np.ndarray[Any, np.dtype[Any]]:
    """Return an array of `size` cells to be filled.

    NumPy's and Arrow's own allocators ask for huge pages, which can take longer to get than the array to fill.
    """
    bytes_ = size * np.dtype(kind).itemsize
    if bytes_ < LARGE:
        return np.empty(size, dtype=kind)
    return np.frombuffer(pa.allocate_buffer(bytes_, memory_pool=pa.system_memory_pool()), dtype=kind)
