"""A wheel is used as its users use it: unpacked elsewhere, its first release compiles nothing; the image is built."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import numba
import pandas as pd
import pyreadstat
import pytest
from tools.check_wheel import RELEASE, check_first_release

from references.documentation import ROOT


def build_wheel(folder: Path, **variables: str) -> Path:
    called = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(called, cwd=ROOT, env={**os.environ, **variables}, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    """Kernels of the first release, for every processor."""
    folder = tmp_path_factory.mktemp("kernels")
    given = {**os.environ, "NUMBA_CACHE_DIR": str(folder), "NUMBA_CPU_NAME": "generic"}
    indistinct = [sys.executable, "-m", "indistinct"]
    patients = ["generate", "patients", "--rows", "5000", "--seed", "1", "-o", "patients.csv"]
    for words in (patients, RELEASE):
        subprocess.run([*indistinct, *words], cwd=folder, env=given, check=True, capture_output=True)
    return folder / "indistinct"


def install(wheel: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Unpack a wheel, and return how its command is called; what it needs is there already."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "installed")
    monkeypatch.setenv("PYTHONPATH", str(folder / "installed"))
    found = [sys.executable, "-c", "import indistinct; print(indistinct.__file__)"]
    where = subprocess.run(found, cwd=folder, capture_output=True, text=True, check=True).stdout
    assert where.startswith(str(folder / "installed"))
    return [sys.executable, "-m", "indistinct"]


def test_the_first_release_of_a_wheel_with_kernels_compiles_nothing(kernels, tmp_path, monkeypatch):
    wheel = build_wheel(tmp_path / "dist", INDISTINCT_KERNELS=str(kernels))
    assert f"-cp3{sys.version_info[1]}-" in wheel.name
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        told = archive.read(name).decode()
    minor = ".".join(numba.__version__.split(".")[:2])
    assert f"Requires-Dist: numba=={minor}.*" in told, "kernels serve the Numba that compiled them"
    assert check_first_release(install(wheel, tmp_path, monkeypatch), tmp_path) == 0


def test_a_wheel_without_kernels_serves_everybody_and_has_none(tmp_path):
    wheel = build_wheel(tmp_path / "dist")
    assert wheel.name.endswith("-py3-none-any.whl")
    with zipfile.ZipFile(wheel) as archive:
        assert not [name for name in archive.namelist() if name.endswith(".kernel")]


def test_a_wheel_is_not_built_from_a_folder_without_kernels(tmp_path):
    with pytest.raises(subprocess.CalledProcessError):
        build_wheel(tmp_path / "dist", INDISTINCT_KERNELS=str(tmp_path))


def test_the_image_is_built_and_runs_without_a_network(tmp_path):
    if shutil.which("docker") is None or subprocess.run(["docker", "info"], capture_output=True).returncode != 0:
        pytest.skip("no Docker daemon answers; tests/shape/test_project_files.py reads the Dockerfile")
    subprocess.run(["docker", "build", "--tag", "indistinct-test", "."], cwd=ROOT, check=True, capture_output=True)
    called = ["docker", "run", "--rm", "--network", "none", "indistinct-test", "--version"]
    assert "indistinct" in subprocess.run(called, check=True, capture_output=True, text=True).stdout


def test_the_hook_stops_a_commit_of_a_leak(tmp_path):
    if shutil.which("pre-commit") is None:
        pytest.skip("pre-commit is not installed; tests/cli/test_pipelines.py reads the hook")
    given = {**os.environ, "PRE_COMMIT_HOME": str(tmp_path / "kept")}
    rows = [f"[{decade}-{decade + 9}],{ill}" for decade in (20, 30) for ill in ("flu", "cold", "ulcer")]
    (tmp_path / "clean.csv").write_text("\n".join(["age,ill", *rows, ""]))
    (tmp_path / "leak.csv").write_text("\n".join(["index,age,ill", *(f"{i},{row}" for i, row in enumerate(rows)), ""]))
    pyreadstat.write_sav(pd.DataFrame({"age": ["[20-29]"] * 6}), tmp_path / "clean.sav")
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)

    def ran(*files: str) -> subprocess.CompletedProcess[str]:
        called = ["pre-commit", "try-repo", str(ROOT), "indistinct-scan", "--files", *files]
        return subprocess.run(called, cwd=tmp_path, env=given, capture_output=True, text=True)

    sound = ran("clean.csv", "clean.sav")  # the reader of SPSS is there, because the hook asks for it
    assert sound.returncode == 0, sound.stdout
    found = ran("clean.csv", "leak.csv")
    assert found.returncode == 1
    assert "- exit code: 4" in found.stdout
