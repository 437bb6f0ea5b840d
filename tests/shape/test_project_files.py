"""The files around the code: workflows, templates, the image, locks and versions say the same as the project."""

import importlib.util
import json
import re
import subprocess
import sys
import tomllib

import pytest
import yaml

import indistinct as ind
from references.documentation import ROOT

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
TARGETS = set(re.search(r"^\.PHONY: (.*)$", MAKEFILE, re.M)[1].split())
PYTHONS = [word.rpartition(" ")[2] for word in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", word)]


def jobs_of(path):
    return yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"]


def steps_of(path):
    return [step for job in jobs_of(path).values() for step in job.get("steps", ())]


# Workflows call the targets that everybody calls, and may do no more than they must.


def test_there_are_workflows_for_tests_wheels_docs_and_releases():
    assert [path.stem for path in WORKFLOWS] == ["docs", "release", "test", "wheels"]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_run_targets_of_the_makefile_and_nothing_else(path):
    commands = [step["run"] for step in steps_of(path) if "run" in step]
    assert [line for line in commands if line.split()[0] != "make" or not set(line.split()[1:]) <= TARGETS] == []


def test_hooks_of_contributors_run_targets_too():
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))["repos"]
    entries = [hook["entry"].split() for repository in hooks for hook in repository["hooks"]]
    assert entries
    assert all(words[0] == "make" and set(words[1:]) <= TARGETS for words in entries)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_read_and_only_publishing_gets_more(path):
    document = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert document["permissions"] == {"contents": "read"}
    more = {name for name, job in document["jobs"].items() if "permissions" in job}
    assert more <= {"publish"}
    assert all("environment" in document["jobs"][name] for name in more)


@pytest.mark.parametrize("path", [*WORKFLOWS, ROOT / "action.yml"], ids=lambda path: path.stem)
def test_actions_of_others_are_named_by_their_commits(path):
    """A tag can be moved to other code; the comment says which version the commit is, for readers and Dependabot."""
    used = re.findall(r"uses: (\S+)(.*)$", path.read_text(encoding="utf-8"), re.M)
    assert used
    for name, comment in used:
        assert name.startswith("./") or re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", name), name
        assert name.startswith("./") or re.fullmatch(r" # v\d+\.\d+\.\d+", comment), name


def test_workflows_run_dbt_and_the_image_and_a_release_has_its_components():
    commands = {step["run"] for path in WORKFLOWS for step in steps_of(path) if "run" in step}
    assert {"make test-dbt", "make image", "make check-image", "make sbom", "make attach-sbom"} <= commands
    publish = jobs_of(ROOT / ".github" / "workflows" / "release.yml")["publish"]
    runs = [step.get("run") for step in publish["steps"]]
    sent = [step.get("with", {}).get("path") for step in publish["steps"]]
    # What lies in dist/ goes to the package index, which takes packages alone.
    assert "make attach-sbom" in runs
    assert sent.index("dist") < sent.index("build/sbom")


def test_the_list_of_components_gets_licences(tmp_path):
    path = tmp_path / "list.json"
    path.write_text(json.dumps({"components": [{"name": "numpy"}, {"name": "no-such-package"}]}))
    ran = subprocess.run([sys.executable, ROOT / "tools" / "sbom_licences.py", path], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    numpy, other = json.loads(path.read_text())["components"]
    assert "BSD" in json.dumps(numpy["licenses"])
    assert "licenses" not in other
    assert "no-such-package" in ran.stdout


def test_every_supported_python_is_tested_and_gets_wheels():
    for name, job in (("test", "test"), ("wheels", "wheel")):
        matrix = jobs_of(ROOT / ".github" / "workflows" / f"{name}.yml")[job]["strategy"]["matrix"]
        assert matrix["python"] == PYTHONS
    assert f">={PYTHONS[0]}" == PROJECT["requires-python"]


def test_files_for_github_keep_to_their_schemas():
    """`make check-files` has what this needs; the lines of the target are run as they stand there."""
    if importlib.util.find_spec("check_jsonschema") is None:
        pytest.skip("check-jsonschema is not installed: `make check-files` installs it and checks the same")
    lines = re.findall(r"^\t\$\(CHECK\) (.*)$", MAKEFILE, re.M)
    assert len(lines) == 5
    for line in lines:
        schema, *patterns = line.split()
        files = [path for pattern in patterns for path in sorted(ROOT.glob(pattern))]
        assert files
        called = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, *files]
        ran = subprocess.run(called, capture_output=True, text=True)
        assert ran.returncode == 0, ran.stdout


# The image.


def instructions():
    """Return the instructions of the Dockerfile, one list for each stage."""
    text = re.sub(r"^#.*\n", "", (ROOT / "Dockerfile").read_text(encoding="utf-8"), flags=re.M).replace("\\\n", " ")
    stages = []
    for line in filter(str.strip, text.splitlines()):
        word, _, rest = line.strip().partition(" ")
        if word == "FROM":
            stages.append([])
        if stages:
            stages[-1].append((word, rest.strip()))
    return stages


def test_the_image_is_small_runs_as_nobody_special_and_fetches_nothing_when_it_runs():
    build, run, *_ = instructions()
    bases = {stage[0][1].partition(" ")[0] for stage in (build, run)}
    assert len(bases) == 1
    assert re.fullmatch(r"python:[\d.]+-slim-\w+@sha256:[0-9a-f]{64}", bases.pop())
    names = [word for word, _ in run]
    assert names[-1] == "CMD"
    (user,) = [rest for word, rest in run if word == "USER"]
    assert user not in ("root", "0")
    assert names.index("USER") < names.index("ENTRYPOINT")
    assert "WORKDIR" in names
    runs = " ".join(rest for word, rest in run if word == "RUN")
    assert not re.search(r"\b(pip|apt-get|make|curl|wget)\b", runs)
    assert "ADD" not in names
    assert [rest for word, rest in run if word == "COPY"] == ["--from=build /opt/indistinct /opt/indistinct"]


def test_the_image_runs_for_a_user_that_it_does_not_know():
    (settings,) = [rest for word, rest in instructions()[1] if word == "ENV"]
    assert "HOME=/tmp" in settings.split()
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    documented = re.findall(r"^#   docker run .*$", text, re.M)
    assert len(documented) == 2
    assert all('--user "$(id -u):$(id -g)"' in line for line in documented)
    assert re.search(r"^check-image:(?:\n\t.*)*--user ", MAKEFILE, re.M)


def test_only_the_web_app_has_its_health_checked_and_only_this_machine_reaches_it():
    _, run, serve, last = instructions()
    assert (serve[0], last) == (("FROM", "run AS serve"), [("FROM", "run")])
    assert "HEALTHCHECK" not in [word for word, _ in run]
    told = dict(serve)
    assert json.loads(told["CMD"])[0] == "serve"
    assert "HEALTHCHECK" in told
    port = json.loads(told["CMD"])[-1]
    assert f"'127.0.0.1', {port}" in told["HEALTHCHECK"]
    assert f"--publish 127.0.0.1:{port}:{port}" in (ROOT / "Dockerfile").read_text(encoding="utf-8")


def test_the_image_is_built_by_a_target_from_a_wheel_with_kernels_and_locked_packages():
    runs = " ".join(rest for word, rest in instructions()[0] if word == "RUN")
    assert set(re.findall(r"\bmake ([a-z-]+)", runs)) == {"wheel"}
    assert "--require-hashes --requirement requirements-image.lock" in runs
    assert "--no-deps dist/*-cp*.whl" in runs
    assert "--without-pip" in runs
    locked = (ROOT / "requirements-image.lock").read_text(encoding="utf-8")
    assert not re.findall(r"^(hatchling|editables|pytest|uv)==", locked, re.M)
    assert all(f"\n{name}==" in locked for name in ("nicegui", "duckdb", "deltalake", "pyiceberg"))
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").split()
    assert {".git", ".venv", "dist"} <= set(ignored)


# Versions and locks.


def test_the_change_log_begins_with_this_version():
    headings = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.M)
    assert [heading.rstrip(",") for heading in headings][:2] == [ind.__version__, "0.1.0"]


def test_both_packages_have_one_version():
    papers = tomllib.loads((ROOT / "papers" / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert papers["version"] == ind.__version__
    assert [each.partition("[")[0] + each.partition("]")[2] for each in papers["dependencies"]] == [
        f"indistinct=={ind.__version__}"
    ]
    assert papers["requires-python"] == PROJECT["requires-python"]


def test_lock_files_name_no_host_and_have_hashes():
    locks = sorted(ROOT.glob("requirements*.lock"))
    assert [path.name for path in locks] == [
        "requirements-dbt.lock",
        "requirements-dev.lock",
        "requirements-docs.lock",
        "requirements-image.lock",
        "requirements-packaging.lock",
        "requirements.lock",
    ]
    for path in locks:
        text = path.read_text(encoding="utf-8")
        assert "://" not in text
        assert re.findall(r"^\S+==", text, re.M)
        assert not re.findall(r"^\S+==[^\\]*$", text, re.M)
    for name in ("zensical", "check-jsonschema", "cyclonedx-bom"):
        assert f"\n{name}==" not in (ROOT / "requirements-dev.lock").read_text(encoding="utf-8")
