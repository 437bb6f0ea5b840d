"""No mutated file leads to a traceback, a hang, a crash, much memory, or a message with a cell's value.

`INDISTINCT_FUZZ` is how many files of each kind are made (`make fuzz`); without it, the same few everywhere.
"""

import hashlib
import json
import os
import random
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from fuzz.guard import Guard, Outcome
from fuzz.mutations import mutated
from fuzz.seeds import MARK, SEEDS, Seed, plant

FILES = int(os.environ.get("INDISTINCT_FUZZ", "6"))
FIRST = random.SystemRandom().randrange(1 << 30) if "INDISTINCT_FUZZ" in os.environ else 0
# Beside ten times the file: code and kernels that are read only when a command runs.
MEMORY = 400 << 20


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz")


@pytest.fixture(scope="module")
def seeds(folder: Path) -> Mapping[str, bytes]:
    return plant(folder)


@pytest.fixture(scope="module")
def guard(folder: Path, seeds: Mapping[str, bytes]) -> Iterator[Guard]:
    with Guard(folder) as guard:
        yield guard


def wrong_with(outcome: Outcome, size: int) -> str | None:
    """Return what a run did that no run may do."""
    if outcome.code not in (0, 1, 2, 3, 4):
        return f"ended with {outcome.code} after {outcome.seconds:.1f} s"
    if "Traceback" in outcome.words or "unexpected" in outcome.words:
        return "an error that nobody expected"
    if MARK in outcome.words:
        return "a cell in a message"
    if outcome.memory > 10 * size + MEMORY:
        return f"took {outcome.memory >> 20} MB"
    return None


@pytest.mark.parametrize("seed", SEEDS, ids=lambda seed: seed.name)
def test_seeds_are_read(folder: Path, guard: Guard, seeds: Mapping[str, bytes], seed: Seed) -> None:
    for command in seed.commands:
        outcome = guard.run(*command)
        assert wrong_with(outcome, len(seeds[seed.name])) is None, (command, outcome)
        assert command[0] != "inspect" or outcome.code == 0, (command, outcome)


@pytest.mark.parametrize("seed", SEEDS, ids=lambda seed: seed.name)
def test_mutated_files(folder: Path, guard: Guard, seeds: Mapping[str, bytes], seed: Seed) -> None:
    path, found = folder / seed.name, []
    for number in range(FIRST, FIRST + FILES):
        chance = random.Random(f"{seed.name} {number}")  # noqa: S311
        content = mutated(seeds[seed.name], seed.name, chance)
        path.write_bytes(content)
        if seed.name == "large.json.arrow":
            signed = json.loads(seeds["large.json"]) | {"arrow": hashlib.sha256(content).hexdigest()}
            (folder / "large.json").write_text(json.dumps(signed))
        command = chance.choice(seed.commands)
        outcome = guard.run(*command)
        if wrong := wrong_with(outcome, len(content)):
            kept = Path(os.environ.get("INDISTINCT_FUZZ_KEEP", folder)) / f"{number}-{seed.name}"
            kept.write_bytes(content)
            found.append(f"{wrong}: {' '.join(command)} with {kept}\n{outcome.words[-600:]}")
    for name, content in seeds.items():
        (folder / name).write_bytes(content)
    assert not found, f"{len(found)} of {FILES}\n" + "\n".join(found)
