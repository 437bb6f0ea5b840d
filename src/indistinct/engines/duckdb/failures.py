"""What DuckDB says when it fails, in our words: its own may quote values of the table."""

import functools
import sys
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from indistinct.errors import InputError
from indistinct.machine.spill import PREFIX, spill_error

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def own_words(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Mark a function that asks DuckDB: errors of DuckDB in it become ours."""

    @functools.wraps(function)
    def run(*arguments: Arguments.args, **options: Arguments.kwargs) -> Result:
        try:
            return function(*arguments, **options)
        except Exception as error:
            duckdb = sys.modules.get("duckdb")  # it may not be installed, which is told where it is needed
            if duckdb is None or not isinstance(error, duckdb.Error):
                raise
            raise _translate_error(error, duckdb.OutOfMemoryException, duckdb.IOException) from None

    return run


def _translate_error(error: Exception, memory: type[Exception], disk: type[Exception]) -> Exception:
    text = str(error).lower()
    if isinstance(error, memory):
        return spill_error(full=True) if "max_temp_directory_size" in text else MemoryError()
    if isinstance(error, disk) and PREFIX in text:
        return spill_error(full="space" in text or "too large" in text)
    return InputError(
        f"DuckDB could not read the table: {type(error).__name__}",
        hint="check the file, or read it with the engine memory, which says more",
    )
