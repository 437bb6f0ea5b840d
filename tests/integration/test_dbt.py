"""The tests that `indistinct dbt` writes, run by dbt on DuckDB: a sound release passes, a broken one fails."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from indistinct.cli import main

ROOT = Path(__file__).parents[2]
OWN = ROOT / ".venv-dbt" / "bin" / "dbt"
DBT = os.environ.get("INDISTINCT_DBT") or (str(OWN) if OWN.exists() else shutil.which("dbt"))

POLICY = """
[input]
path = "people.csv"

[columns]
age = "quasi"
sex = "quasi"
ill = "sensitive"

[privacy]
models = [
  "k-anonymity:k=3", "distinct-l-diversity:sensitive=ill,l=2", "entropy-l-diversity:sensitive=ill,l=1.5",
  "recursive-l-diversity:sensitive=ill,c=3,l=2", "t-closeness:sensitive=ill,t=0.6",
]

[algorithm]
use = "mondrian"

[output]
path = "project/seeds/release.csv"
"""
PROJECT = """
name: clinic
version: "1.0"
profile: clinic
seed-paths: [seeds]
model-paths: [models]
test-paths: [tests]
seeds:
  clinic:
    +column_types: {age: varchar}
"""
PROFILE = """
clinic:
  target: dev
  outputs:
    dev: {type: duckdb, path: clinic.duckdb, threads: 1}
"""


@pytest.fixture
def project(tmp_path):
    """A project of dbt with a release as its seed, a model that selects it, and the tests of its policy beside that."""
    rows = [f"{20 + i % 12},{'fm'[i % 2]},{('flu', 'cold', 'ulcer')[i % 3]}" for i in range(90)]
    (tmp_path / "people.csv").write_text("age,sex,ill\n" + "\n".join(rows) + "\n")
    (tmp_path / "clinic.toml").write_text(POLICY)
    folder = tmp_path / "project"
    for name in ("seeds", "models", "tests"):
        (folder / name).mkdir(parents=True)
    assert main(["anonymize", str(tmp_path / "clinic.toml")]) == 0
    assert main(["dbt", str(tmp_path / "clinic.toml"), "-o", str(folder / "tests")]) == 0
    (folder / "seeds" / "release.csv.certificate.json").rename(tmp_path / "certificate.json")
    (folder / "dbt_project.yml").write_text(PROJECT)
    (folder / "profiles.yml").write_text(PROFILE)
    (folder / "models" / "published.sql").write_text("select * from {{ ref('release') }}\n")
    tests = [path.stem for path in sorted((folder / "tests" / "generic").glob("*.sql"))]
    assert len(tests) == 5
    listed = "".join(f"      - {name}\n" for name in tests)
    (folder / "models" / "schema.yml").write_text(
        f"version: 2\nmodels:\n  - name: published\n    data_tests:\n{listed}"
    )
    return folder


def build(project):
    """Run dbt on a project, without asking anybody elsewhere."""
    if DBT is None:
        pytest.skip("dbt is not installed: `make test-dbt` makes an environment for it")
    command = [DBT, "--no-send-anonymous-usage-stats", "build", "--profiles-dir", ".", "--no-use-colors"]
    return subprocess.run(command, cwd=project, capture_output=True, text=True, timeout=300)


def test_a_release_passes_its_tests_and_a_broken_one_fails(project):
    ran = build(project)
    assert ran.returncode == 0, ran.stdout
    assert ran.stdout.count("PASS indistinct_clinic_") == 5
    release = project / "seeds" / "release.csv"
    release.write_text(release.read_text() + "[95-99],f,flu\n")
    ran = build(project)
    assert ran.returncode == 1
    for name in ("k_anonymity", "distinct_l_diversity_ill", "entropy_l_diversity_ill", "recursive_l_diversity_ill"):
        assert f"FAIL 1 indistinct_clinic_{name}" in ran.stdout
    assert "FAIL 1 indistinct_clinic_t_closeness_ill" in ran.stdout
