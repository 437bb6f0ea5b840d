"""`df.indistinct` for pandas and polars: the public functions, with a frame as their table.

Importing this module registers it for those of both that are installed:

    import indistinct.accessors
    release = frame.indistinct.anonymize(schema, model="k-anonymity:k=5")
"""

from importlib.util import find_spec
from typing import Any

import indistinct


class FrameAccessor:
    """The public functions about a table, for one frame: each passes on what it is given."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    def inspect(self, **options: Any) -> Any:
        """Return what `indistinct.inspect` says of the frame."""
        return indistinct.inspect(self._frame, **options)

    def anonymize(self, schema: Any, **options: Any) -> Any:
        """Return a release of the frame, as `indistinct.anonymize` makes it."""
        return indistinct.anonymize(self._frame, schema, **options)

    def apply(self, recoding: Any, **options: Any) -> Any:
        """Return the release of the frame under a recoding, as `indistinct.apply` makes it."""
        return indistinct.apply(recoding, self._frame, **options)

    def verify(self, schema: Any, model: Any, **options: Any) -> Any:
        """Return what the frame, as a published table, achieves under a model."""
        return indistinct.verify(self._frame, schema, model, **options)

    def assess(self, schema: Any, **options: Any) -> Any:
        """Return the risk of the frame, as `indistinct.assess` counts it."""
        return indistinct.assess(self._frame, schema, **options)

    def scan(self, **options: Any) -> Any:
        """Scan the frame, as a published table, for leaks."""
        return indistinct.scan(self._frame, **options)

    def intervals(self, **options: Any) -> Any:
        """Return what the labels of the frame cover."""
        return indistinct.intervals(self._frame, **options)


def _register() -> None:
    """Make `indistinct` an attribute of the frames of every library that is installed."""
    if find_spec("pandas") is not None:
        from pandas.api.extensions import register_dataframe_accessor

        register_dataframe_accessor("indistinct")(FrameAccessor)
    if find_spec("polars") is not None:
        from polars.api import register_dataframe_namespace

        register_dataframe_namespace("indistinct")(FrameAccessor)


_register()
