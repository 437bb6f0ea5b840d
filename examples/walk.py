"""Run the commands of the walk-through and write what they answered below them: `python examples/walk.py`.

Commands are in blocks of the kind `console`, after a `$`. They run in an empty folder, in their order, so that what
the page shows is what a reader will see. A test runs them too and compares.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).parent
PAGE = HERE / "hospital.md"
BLOCK = re.compile(r"(?<=^```console\n).*?(?=^```$)", re.MULTILINE | re.DOTALL)


def commands(block: str) -> Iterator[str]:
    """Yield the commands of a block, each as it is written, with its continued lines."""
    command = ""
    for line in block.splitlines():
        if command.endswith("\\") or line.startswith("$ "):
            command = f"{command}\n{line}" if command.endswith("\\") else line
            if not command.endswith("\\"):
                yield command
                command = ""


def answer(command: str, folder: Path) -> str:
    """Return what a command shows, then what it tells beside, and its exit code if that is not 0."""
    words = shlex.split(command.removeprefix("$ ").replace("\\\n", " "))
    if words[0] == "cat":
        return "".join((folder / name).read_text(encoding="utf-8") for name in words[1:])
    if words[0] == "cp":
        shutil.copy(HERE / Path(words[1]).name, folder / words[2])
        return ""
    if words[0] == "python":
        words = [sys.executable, str(HERE / Path(words[1]).name), *words[2:]]
    else:
        words = [sys.executable, "-m", *words]
    settings = {**os.environ, "COLUMNS": "80", "NO_COLOR": "1", "PYTHONIOENCODING": "utf-8"}
    ran = subprocess.run(words, cwd=folder, capture_output=True, check=False, env=settings)  # noqa: S603
    told = [part.decode().strip("\n") for part in (ran.stdout, ran.stderr)]
    if ran.returncode:
        told.append(f"(exit code {ran.returncode})")
    return "".join(f"{part}\n" for part in told if part)


def walk(page: str, folder: Path) -> str:
    """Return a page with the answers of its commands, which run in a folder."""

    def answered(block: re.Match[str]) -> str:
        return "".join(f"{command}\n{answer(command, folder)}" for command in commands(block[0]))

    return BLOCK.sub(answered, page)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        PAGE.write_text(walk(PAGE.read_text(encoding="utf-8"), Path(folder)), encoding="utf-8")
