"""Taking times: the best of several runs, because other work on the machine only ever adds to one."""

import json
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Line:
    """One row of the report: our time, the peer's, and how the ratio compares with its goal."""

    what: str
    ours: float
    peer: str
    theirs: float
    goal: float | None

    @property
    def ratio(self) -> float:
        return self.ours / self.theirs

    def text(self) -> str:
        goal = "" if self.goal is None else f"goal ≤ {self.goal:g}  {'met' if self.ratio <= self.goal else 'NOT MET'}"
        return f"{self.what:<58} {self.ours:8.2f}  {self.peer:<34} {self.theirs:8.2f}  ratio {self.ratio:6.3f}  {goal}"


def best(work: Callable[[], object], *, repeat: int = 3, clock: Callable[[], float] = time.perf_counter) -> float:
    times = []
    for _ in range(repeat):
        began = clock()
        work()
        times.append(clock() - began)
    return min(times)


def in_child(module: str, *arguments: str) -> dict[str, float]:
    """Run a module in a process of its own and return the JSON that it prints last."""
    done = subprocess.run([sys.executable, "-m", module, *arguments], check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(done.stdout.strip().splitlines()[-1])
    return found
