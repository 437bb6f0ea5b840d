"""Log messages of unexpected errors: where they happened, and never their texts, which may quote a cell."""

import logging
import sys
import threading
import warnings
from types import TracebackType

LOG = logging.getLogger("indistinct.web")
FRAMEWORKS = ("", "nicegui", "uvicorn", "uvicorn.error", "asyncio", "socketio", "engineio", "fastapi", "indistinct.web")


def where(error: BaseException) -> str:
    """Return the type of an error and the function that raised it.

    >>> where(ValueError("Ms Smith, born in 1950"))
    'ValueError'
    """
    return type(error).__name__ + _place(error.__traceback__)


def _place(trace: TracebackType | None) -> str:
    """Return the function and line of this package in which an error was raised."""
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return ""
    module = trace.tb_frame.f_globals.get("__name__", "")
    return f" in {module}.{trace.tb_frame.f_code.co_name}, line {trace.tb_lineno}"


class WithoutValues(logging.Filter):
    """Log lines tell where something went wrong, not what a message quotes."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Replace the message of a record by its place."""
        error = record.exc_info[1] if record.exc_info else record.msg
        if isinstance(error, BaseException):
            record.msg = where(error)
        else:
            record.msg = f"{record.name}: {record.module}.{record.funcName}, line {record.lineno}"
        record.args, record.exc_info, record.exc_text, record.stack_info = (), None, None, None
        return True


def quiet_logs() -> None:
    """Let this process say what went wrong without what is quoted, and nothing else."""
    handler = logging.StreamHandler(sys.stderr)
    handler.addFilter(WithoutValues())
    for name in FRAMEWORKS:
        log = logging.getLogger(name)
        log.handlers, log.propagate = [handler], False
        log.setLevel(logging.ERROR)
    warnings.simplefilter("ignore")
    threading.excepthook = lambda event: LOG.error(event.exc_value or event.exc_type.__name__)
    sys.unraisablehook = lambda event: LOG.error(event.exc_value)
