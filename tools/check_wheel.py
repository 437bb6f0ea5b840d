"""The first minute of a new user: a wheel is installed into a fresh environment; its first release compiles nothing.

    python tools/check_wheel.py dist/indistinct-0.2.0-cp313-cp313-manylinux_2_17_x86_64.whl

`make check-wheel` runs it on what `make wheel` made.
"""

import os
import resource
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

RELEASE = (
    *("anonymize", "patients.csv", "--identifier", "name,cost", "--quasi", "age,sex,zipcode,admitted"),
    *("--sensitive", "disease", "--model", "k-anonymity:k=5", "-o", "release.csv"),
)


def main(wheel: Path) -> int:
    """Install a wheel, publish a table, and say what that took; return 1 if something was compiled."""
    with tempfile.TemporaryDirectory() as folder:
        fresh = Path(folder)
        venv.create(fresh / "venv", with_pip=True)
        programs = fresh / "venv" / "bin"
        subprocess.run([programs / "pip", "install", "--quiet", wheel.resolve()], check=True)  # noqa: S603
        return check_first_release([str(programs / "indistinct")], fresh)


def check_first_release(command: list[str], folder: Path) -> int:
    """Run the first release of a user who has no kernels yet; `command` is how `indistinct` is called."""
    given = {**os.environ, "HOME": str(folder), "XDG_CACHE_HOME": str(folder / "cache")}
    given.pop("NUMBA_CACHE_DIR", None)

    def run(*words: str) -> str:
        called = [*command, *words]
        return subprocess.run(called, cwd=folder, env=given, capture_output=True, text=True, check=True).stderr  # noqa: S603

    run("generate", "patients", "--rows", "5000", "--seed", "1", "-o", "patients.csv")
    before, began = _computed(), time.monotonic()
    messages = run(*RELEASE)
    print(f"first release: {_computed() - before:.1f} s computed, {time.monotonic() - began:.1f} s waited")
    compiled = sorted(path.name for path in (folder / "cache").rglob("*.kernel"))
    for name in compiled:
        print(f"compiled, and not shipped: {name}")
    return int(bool(compiled) or "preparing" in messages)


def _computed() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
