"""The documentation as a site that needs no network: `make site` writes it into site/.

    python tools/site_pages.py build/site            writes the pages and the settings, for `zensical build`
    python tools/site_pages.py build/site --finish   takes what the builder made, and fails if it needs another host

The folder gets the pages as they lie in the repository, so that every link holds, and `zensical.toml` beside them. The
order of pages is that of the tables which list them; nothing is typed in twice.
"""

import json
import re
import shutil
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
SETTINGS = ROOT / "zensical.toml"
# Folders of pages, by the heading that they have in the navigation; each has a README that lists its pages.
SECTIONS = {
    "Tutorials": "docs/tutorials",
    "Guides": "docs/guides",
    "Concepts": "docs/concepts",
    "Reference": "docs/reference",
    "Theory": "docs/theory",
    "Research": "docs/research",
    "Examples": "examples",
    "Decisions": "docs/decisions",
}
# The pages of public names, a group in the section of the reference.
PYTHON = "docs/reference/python"
START = ("README", "install", "gallery", "cheat-sheet", "faq", "how-it-works")
CHOOSING = ("features", "known-limits", "comparison", "gdpr-and-hipaa")
WAYS = ("steward", "engineer", "researcher", "contributor")
MEASUREMENTS = "benchmarks/README.md"
PROJECT = ("glossary", "releasing")
# Searching in pages of the file system needs a worker, which browsers do not start there; ours stands in for it.
WORKER = "docs/site-worker.js"
FOREIGN_WORKER = re.compile(r'<script src="https://unpkg\.com/iframe-worker[^"]*"[^>]*></script>')
# What a reader of a missing page can do; its links start at the address of the site.
NOT_FOUND = "404 - Not found</h1>"
WAYS_ON = (
    '<p>This page does not exist, or has moved. Search above, or start at the <a href="{site}docs/README.html">'
    'documentation</a>, the <a href="{site}docs/guides/README.html">guides</a> or the '
    '<a href="{site}docs/reference/README.html">reference</a>.</p>'
)
FETCHED = re.compile(
    r'<(?:script|img|iframe|source|video|audio)\b[^>]*?\ssrc=["\']?(?:https?:)?//([^"\'\s>]+)'
    r'|<link\b(?![^>]*rel=["\']?canonical)[^>]*?\shref=["\']?(?:https?:)?//([^"\'\s>]+)'
)
LINK = re.compile(r"\]\(([^)\s#:]+\.md)\)")
GROUP = re.compile(r"^## ", re.M)


def main(folder: Path) -> int:
    """Write the pages and the settings of the site into a folder."""
    shutil.rmtree(folder, ignore_errors=True)
    pages = folder / "pages"
    for name in ("docs", "examples"):
        shutil.copytree(ROOT / name, pages / name, ignore=shutil.ignore_patterns("__pycache__"))
    for path in (*ROOT.glob("*.md"), ROOT / "LICENSE", ROOT / "CITATION.cff"):
        shutil.copy(path, pages)
    (pages / "benchmarks").mkdir()
    shutil.copy(ROOT / MEASUREMENTS, pages / MEASUREMENTS)
    settings = SETTINGS.read_text(encoding="utf-8")
    (folder / "zensical.toml").write_text(
        settings.replace("nav = []", f"nav = {_toml(navigation())}"), encoding="utf-8"
    )
    return 0


def navigation() -> list[object]:
    """Return the pages in their order, as the settings of the site have them."""
    start, choosing, ways, project = (
        [f"docs/{name}.md" for name in names] for names in (START, CHOOSING, WAYS, PROJECT)
    )
    sections = {title: _grouped(ROOT / path) for title, path in SECTIONS.items()}
    sections["Reference"].append({"Python": _grouped(ROOT / PYTHON)})
    return [
        {"Start": ["README.md", *start, {"Is it for you?": choosing}, {"Ways in": ways}]},
        *({title: pages} for title, pages in sections.items()),
        {"Project": [*project, MEASUREMENTS, "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"]},
    ]


def _grouped(folder: Path) -> list[object]:
    """Return the pages of a folder; those that its README lists under two headings or more are in groups."""
    pages = list(_listed(folder))
    parts = [part.partition("\n") for part in GROUP.split((folder / "README.md").read_text(encoding="utf-8"))[1:]]
    listed = {title: [_name(folder / link) for link in LINK.findall(text)] for title, _, text in parts}
    groups = {title: [name for name in names if name in pages] for title, names in listed.items()}
    groups = {title: names for title, names in groups.items() if names}
    if len(groups) < 2:
        return list(pages)
    grouped = {name for names in groups.values() for name in names}
    return [pages[0], *({title: names} for title, names in groups.items()), *sorted(set(pages[1:]) - grouped)]


def _listed(folder: Path) -> Iterator[str]:
    """Yield the pages of a folder: its README, what that lists in its own folder, and then the others by name."""
    readme = folder / "README.md"
    yield _name(readme)
    listed = [(folder / link).resolve() for link in LINK.findall(readme.read_text(encoding="utf-8"))]
    others = sorted(path.resolve() for path in folder.glob("*.md"))
    for path in dict.fromkeys([*listed, *others]):
        if path.parent == folder.resolve() and path.name != readme.name:
            yield _name(path)


def _name(path: Path) -> str:
    return path.resolve().relative_to(ROOT.resolve()).as_posix()


def _toml(value: object) -> str:
    """Return lists, texts and tables of one entry as TOML."""
    match value:
        case list():
            return "[" + ", ".join(map(_toml, value)) + "]"
        case dict():
            return "{ " + ", ".join(f"{json.dumps(key)} = {_toml(each)}" for key, each in value.items()) + " }"
    return json.dumps(value)


def finish(folder: Path, target: Path) -> int:
    """Move the site to its place, with our own script where the builder has one of another host; name what is left."""
    built = folder / "site"
    for page in built.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        ours = "/".join([".."] * (len(page.relative_to(built).parts) - 1) + [WORKER])
        page.write_text(FOREIGN_WORKER.sub(f'<script src="{ours}"></script>', text), encoding="utf-8")
    missing = built / "404.html"
    if missing.is_file():
        text = missing.read_text(encoding="utf-8")
        ways = WAYS_ON.format(site=tomllib.loads(SETTINGS.read_text(encoding="utf-8"))["project"]["site_url"])
        missing.write_text(text.replace(NOT_FOUND, f"Page not found</h1>{ways}"), encoding="utf-8")
    foreign = [(page, found) for page in sorted(built.rglob("*.html")) for found in fetched_from_elsewhere(page)]
    for page, found in foreign:
        print(f"{page.relative_to(built)} fetches {found}")
    shutil.rmtree(target, ignore_errors=True)
    built.rename(target)
    return int(bool(foreign))


def fetched_from_elsewhere(page: Path) -> list[str]:
    """Return the addresses from which a page would fetch something by itself."""
    text = page.read_text(encoding="utf-8")
    return [first or second for first, second in FETCHED.findall(text)]


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    sys.exit(finish(folder, ROOT / "site") if "--finish" in sys.argv else main(folder))
