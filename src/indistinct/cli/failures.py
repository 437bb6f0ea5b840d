"""One place where errors become messages and exit codes: expected ones with a hint, others by type.

An algorithm or an engine that fails unexpectedly may quote a cell in its message, so that is not shown.
"""

import atexit
import io
import logging
import os
import re
import signal
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import takewhile
from threading import Event
from typing import Any, NoReturn

import typer

from indistinct.cli.screen import print_json, say
from indistinct.errors import IndistinctError
from indistinct.machine.memory import is_memory, out_of_memory, wanted_bytes
from indistinct.settings import COLUMNS, FLAGS

EXIT_CODE_INTERRUPTED = 130
# Typer has its own copy of Click in newer versions; both end in these two classes.
UsageError: type[Exception] = typer.BadParameter.__bases__[0]
ClickError: type[Exception] = UsageError.__bases__[0]
# A parameter of Python with its flag, and a parameter with the class that has it, as messages of the library name them.
PARAMETER_AND_FLAG = re.compile(r"`?\b[a-z_]+=[^\s`()]+`? \((--[a-z-]+)\)")
PARAMETER_OF_CLASS = re.compile(r"(?<=` of )[A-Z]\w+")


def run_guarded(run: Callable[[], Any], arguments: Sequence[str]) -> int:
    """Return the exit code of a run; what it raises becomes a message on stderr, and JSON if wanted."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        code = run()
        sys.stdout.flush()
        if code == EXIT_CODE_INTERRUPTED:
            say("interrupted")
        return code if isinstance(code, int) else 0
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001
        return _answer(error, arguments)


def stop_quietly() -> None:
    """End a run on SIGTERM as on an interrupt, so that temporary files are removed. Libraries print nothing."""
    logging.getLogger().addHandler(logging.NullHandler())  # without a handler, logging prints on the terminal

    def stop(*_: object) -> NoReturn:
        _stopped.set()
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, stop)


_stopped = Event()


def _is_interrupt(error: BaseException | None) -> bool:
    """Return whether a run was stopped: an engine that ended with it fails in its own way, which is no news."""
    if _stopped.is_set():
        return True
    while error is not None and not isinstance(error, KeyboardInterrupt | typer.Abort):
        error = error.__context__
    return error is not None


def _answer(error: Exception | KeyboardInterrupt, arguments: Sequence[str]) -> int:
    """Print the error that ended a run, and return its exit code."""
    as_json = "--json" in arguments
    if _is_interrupt(error):
        say("interrupted")
        return EXIT_CODE_INTERRUPTED
    if isinstance(error, BrokenPipeError):
        # The reader of our output has closed the pipe; the interpreter must not complain when it flushes at exit.
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    if isinstance(error, IndistinctError):
        hint = name_flags(error.hint or f"see `indistinct {arguments[0]} --help`")
        _tell(type(error).__name__, name_flags(error.message), hint, as_json=as_json)
        if "--show-values" in arguments and error.values:
            _tell_values(error.values)
        return error.exit_code
    return _other(error, arguments, as_json=as_json)


def name_flags(text: str) -> str:
    """Return a message with the names of the command line in place of those of Python.

    >>> name_flags("allow it with `overwrite=True` (--overwrite)"), name_flags("`k` of KAnonymity must be at least 1")
    ('allow it with --overwrite', '`k` of k-anonymity must be at least 1')
    """
    return PARAMETER_OF_CLASS.sub(_registered_name, PARAMETER_AND_FLAG.sub(r"\1", text))


def _registered_name(match: re.Match[str]) -> str:
    import indistinct

    registered = getattr(indistinct, match[0], None)
    return str(getattr(registered, "name", match[0]))


def run_in_process(run: Callable[[], int], arguments: Sequence[str]) -> int:
    """Run in a child process, which compiled code may end when memory runs out; return its exit code.

    What compiled code says itself, past Python's own stream, is repeated only if the run was not ended by it.
    """
    with tempfile.TemporaryFile() as aside:
        child = os.fork()
        if not child:
            sys.stderr = open(os.dup(2), "w", buffering=1, encoding=sys.stderr.encoding, errors=sys.stderr.errors)  # noqa: PTH123, SIM115
            os.dup2(aside.fileno(), 2)
            code = run()
            sys.stdout.flush()
            sys.stderr.flush()
            atexit._run_exitfuncs()  # rows on disk go
            os._exit(code)
        for number in (signal.SIGINT, signal.SIGTERM):  # the child answers an interrupt, and clears up
            signal.signal(number, lambda got, _frame: os.kill(child, got))
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if code < 0:
            return run_guarded(lambda: _raise(out_of_memory("this command")), arguments)
        aside.seek(0)
        os.write(2, aside.read())
        return code


def _raise(error: Exception) -> NoReturn:
    raise error


def _other(error: BaseException, arguments: Sequence[str], *, as_json: bool) -> int:
    """Print an error of the command line or an unexpected one; return its exit code."""
    if isinstance(error, ClickError):
        command = getattr(getattr(error, "ctx", None), "command_path", "indistinct")
        message, hint = explain_usage(error, arguments)
        _tell("UsageError", message, hint or f"see `{command} --help`", as_json=as_json)
        return int(getattr(error, "exit_code", 2))
    if os.environ.get("INDISTINCT_DEBUG"):
        raise error
    if isinstance(error, PermissionError) and error.filename is not None:
        named = str(error.filename)
        _tell(
            "PermissionError",
            f"no access to {named}: {error.strerror}",
            "ask for access to this file and to its folder, or name another one",
            as_json=as_json,
        )
        return 1
    if is_memory(error):
        short = out_of_memory("this command", wanted_bytes(error))
        _tell("OutOfMemoryError", short.message, short.hint or "", as_json=as_json)
        return short.exit_code
    _tell(
        "UnexpectedError",
        f"unexpected error: {type(error).__name__}",
        "run again with INDISTINCT_DEBUG=1 for the traceback, which may show values of the table",
        as_json=as_json,
        prefix="",
    )
    return 1


# Flags that newcomers try, and what to write instead; `{}` is the value behind the flag.
INSTEAD = {
    "--k": "--model k-anonymity:k={}",
    "-k": "--model k-anonymity:k={}",
    "--l": "--model distinct-l-diversity:sensitive=COLUMN,l={}",
    "-l": "--model distinct-l-diversity:sensitive=COLUMN,l={}",
    "--t": "--model t-closeness:sensitive=COLUMN,t={}",
    "-t": "--model t-closeness:sensitive=COLUMN,t={}",
    "--qi": "--quasi {}",
    "--quasi-identifiers": "--quasi {}",
    "--identifiers": "--identifier {}",
    "--out": "--output {}",
}


def explain_usage(error: Exception, arguments: Sequence[str]) -> tuple[str, str | None]:
    """Return what is wrong with a command line, and a hint if there is a better one than the command's help."""
    option = getattr(error, "option_name", None)
    if option in INSTEAD:
        value = "…"
        for index, text in enumerate(arguments):
            if text.partition("=")[0] == option:
                value = text.partition("=")[2] or next(iter(arguments[index + 1 : index + 2]), value)
        return f"there is no option {option}", f"write {INSTEAD[option].format(value)}"
    message: Any = getattr(error, "format_message", error.__str__)
    written = str(message()).rstrip(".")
    if arguments[:1] == ["attack"] and "RELEASE" in written and len(arguments) > 1:
        return "no attack is named", name_attack(arguments[1])
    written = _in_plain_words(written)
    extra = re.search(r"unexpected extra arguments?(?:\(s\))? \((.*)\)", written)
    if extra is None:
        return written, None
    several = len(extra[1].split()) > 1
    flag, values = _split_list(arguments)
    hint = None if flag is None else f"separate columns by commas: {flag} {','.join(values)}"
    if hint is None and arguments[:1] == ["anonymize"] and "." in extra[1]:
        hint = (
            "anonymize takes one table; several tables about the same people need a policy with [tables.NAME] for each"
        )
    return f"unexpected argument{'s' if several else ''} {extra[1]}", hint


def name_attack(release: str) -> str:
    """Return the hint for a file that is given as the attack."""
    return f"write `indistinct attack all {release} …`, or one attack such as record-linkage in place of all"


PLAIN = {
    "Value error, ": "",
    "Input should be a valid integer, unable to parse string as an integer": "expected a whole number",
    "Input should be a valid number, unable to parse string as a number": "expected a number",
    r"^Missing (?:argument|option) '([^']*)'.*": r"no \1 is given",
    r"^No such option: (\S+)": r"there is no option \1",
    r"^No such command ('[^']*')\. D": r"there is no command \1; d",
    r"^No such command ('[^']*')": r"there is no command \1",
}
"""Patterns of what readers of flags say, and the plain words for it."""


def _in_plain_words(written: str) -> str:
    """Return a message about the value of a flag in plain words.

    >>> _in_plain_words("Invalid value for '--port': Value error, 'x' is not one of 'a', 'b'")
    "Invalid value for '--port': 'x' is not one of 'a', 'b'"
    """
    for theirs, ours in PLAIN.items():
        written = re.sub(theirs, ours, written)
    return written


def _split_list(arguments: Sequence[str]) -> tuple[str | None, list[str]]:
    """Return the first flag of columns that several words follow, and these words; no flag if there is none."""
    flags = {each.option for each in FLAGS.values() if each.kind is COLUMNS}
    for index, text in enumerate(arguments):
        values = list(takewhile(lambda word: not word.startswith("-"), arguments[index + 1 :]))
        if text in flags and len(values) > 1:
            return text, [value.strip(",") for value in values]
    return None, []


def _tell(kind: str, message: str, hint: str, *, as_json: bool, prefix: str = "error: ") -> None:
    """Print an error with its hint, and as JSON if requested."""
    say(f"{prefix}{message}", style="red")
    say(f"\nhint: {hint}")
    if as_json:
        print_json({"error": {"type": kind, "message": message, "hint": hint}})


def _tell_values(values: Sequence[Any], *, most: int = 20) -> None:
    texts = ", ".join(repr(value) for value in values[:most])
    rest = f" and {len(values) - most} more" if len(values) > most else ""
    say(f"\nvalues: {texts}{rest}")
