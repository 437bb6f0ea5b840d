"""The shape of the tree in figures: `python tools/tree.py`, and `python tools/tree.py --list` names what it counts.

Every figure is read from the source text alone, so that two states of the tree can be compared.
"""

import argparse
import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "src" / "indistinct"
PAPERS = Path(__file__).parents[1] / "papers" / "src" / "indistinct_papers"
SHORT = 80
BANNED = frozenset(
    (
        *("shown", "named", "told", "found", "known", "asked", "made", "settled", "united", "beside", "heard"),
        *("mended", "held", "kept", "given", "did", "said", "lay", "explained", "fetched", "labelled", "opened"),
    )
)
"""Functions are verbs: none is called by one of these participles alone."""
PARTICIPLE = re.compile(r"^_?[a-z]+(?:ed|wn|nd|ld|de|ept|ven)$")


@cache
def modules() -> Mapping[str, ast.Module]:
    """Return the syntax trees of the package, by dotted name below it."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)
        found[name] = ast.parse(path.read_text(encoding="utf-8"))
    return found


def path_of(module: str) -> Path:
    """Return the file of a module."""
    folder = PACKAGE.joinpath(*module.split("."))
    return folder / "__init__.py" if folder.is_dir() else folder.with_suffix(".py")


@cache
def imports() -> Mapping[str, frozenset[str]]:
    """Return, for each module, the modules of the package that it imports anywhere."""
    return {name: _imported_by(tree) - {name} for name, tree in modules().items()}


def _imported_by(tree: ast.Module) -> frozenset[str]:
    every = modules()
    imported = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "indistinct":
            base = node.module.removeprefix("indistinct").lstrip(".")
            for alias in node.names:
                full = f"{base}.{alias.name}" if base else alias.name
                imported.add(full if full in every else base)
    return frozenset(imported & every.keys())


def importers() -> Mapping[str, frozenset[str]]:
    """Return, for each module, the modules that import it, those of `indistinct_papers` too."""
    found: dict[str, set[str]] = defaultdict(set)
    papers = {
        f"{PAPERS.name}.{path.stem}": _imported_by(ast.parse(path.read_text(encoding="utf-8")))
        for path in sorted(PAPERS.rglob("*.py"))
    }
    for name, several in {**imports(), **papers}.items():
        for each in several:
            found[each].add(name)
    return {name: frozenset(found[name]) for name in modules()}


def longest_chain() -> int:
    """Return the number of modules on the longest chain of imports; a package that names its modules closes none."""
    depths: dict[str, int] = {}

    def depth(name: str, above: frozenset[str]) -> int:
        if name not in depths:
            below = [each for each in imports()[name] if each not in above]
            depths[name] = 1 + max((depth(each, above | {name}) for each in below), default=0)
        return depths[name]

    return max(depth(name, frozenset()) for name in modules())


def parts() -> tuple[list[str], list[str]]:
    """Return the loose modules and the folders at the top."""
    loose = sorted(path.stem for path in PACKAGE.glob("*.py"))
    folders = sorted(path.name for path in PACKAGE.iterdir() if path.is_dir() and path.name != "__pycache__")
    return loose, folders


def part_layers() -> Mapping[str, int]:
    """Return the layer of every part at the top: above all that it imports. Raise where folders form a cycle."""
    graph: dict[str, set[str]] = defaultdict(set)
    for name, several in imports().items():
        part = name.split(".")[0]
        if part not in ("__init__", "__main__"):
            graph[part] |= {each.split(".")[0] for each in several} - {part, "__init__", "__main__"}
    layers: dict[str, int] = {}

    def layer(part: str, above: tuple[str, ...] = ()) -> int:
        if part in above:
            raise ValueError(f"a cycle of folders: {' → '.join((*above[above.index(part) :], part))}")
        if part not in layers:
            layers[part] = 1 + max((layer(each, (*above, part)) for each in sorted(graph[part])), default=0)
        return layers[part]

    for part in sorted({name.split(".")[0] for name in modules()} - {"__init__", "__main__"}):
        layer(part)
    return layers


def lonely() -> list[str]:
    """Return short modules with one importer that register nothing: they belong into that importer."""
    users = importers()
    found = []
    for name in modules():
        path = path_of(name)
        lines = len(path.read_text(encoding="utf-8").splitlines())
        (user,) = users[name] if len(users[name]) == 1 else ("",)
        if path.name == "__init__.py" or path.name.startswith("_") or user not in modules() or lines >= SHORT:
            continue
        if not is_registered(name, user):
            found.append(f"{name} ({lines}) ← {user}")
    return found


def is_registered(name: str, user: str) -> bool:
    """Return whether the importer lists what a module defines beside others of its family."""
    defined = {node.name for node in modules()[name].body if isinstance(node, ast.ClassDef | ast.FunctionDef)}
    for node in modules()[user].body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            names = {each.id for each in ast.walk(node.value) if isinstance(each, ast.Name)}
            if defined & names and len(names) > 3:
                return True
    registry = modules().get(f"{user}.registry")
    if registry is not None:  # a folder with a registry names what each of its files defines, as in `models.KAnonymity`
        named = {each.attr for each in ast.walk(registry) if isinstance(each, ast.Attribute)}
        if defined & named:
            return True
    return user.split(".")[-1] in ("registry", "cli") or "COMMANDS" in path_of(user).read_text(encoding="utf-8")


def functions() -> Iterator[tuple[str, str]]:
    """Yield every function with its module."""
    for name, tree in modules().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield name, node.name


def classes_of_the_package() -> Mapping[str, str]:
    """Return the folder that owns each class."""
    return {
        node.name: name.split(".")[0]
        for name, tree in modules().items()
        for node in tree.body
        if isinstance(node, ast.ClassDef)
    }


def type_tests() -> tuple[list[str], list[str]]:
    """Return the `isinstance` tests on classes of the package, and those of them outside the owner's folder."""
    owners, every, outside = classes_of_the_package(), [], []
    for name, tree in modules().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "isinstance" and len(node.args) == 2:
                tested = {each.id for each in ast.walk(node.args[1]) if isinstance(each, ast.Name)} & owners.keys()
                if tested:
                    every.append(f"{name}:{node.lineno} {', '.join(sorted(tested))}")
                    if any(owners[each] != name.split(".")[0] for each in tested):
                        outside.append(every[-1])
    return every, outside


def probes() -> list[str]:
    """Return the calls of `getattr` with a literal name: what an object might have is asked of it."""
    return [
        f"{name}:{node.lineno} {ast.unparse(node)}"
        for name, tree in modules().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and ast.unparse(node.func) == "getattr"
        and len(node.args) == 3
        and isinstance(node.args[1], ast.Constant)
    ]


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--list", action="store_true", help="name what is counted")
    listed = parser.parse_args().list
    loose, folders = parts()
    users = importers()
    texts = [path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py")]
    every, outside = type_tests()
    participles = [f"{module}.{name}" for module, name in functions() if PARTICIPLE.match(name)]
    banned = [f"{module}.{name}" for module, name in functions() if name.strip("_") in BANNED]
    figures: dict[str, tuple[object, list[str]]] = {
        "files": (len(texts), []),
        "lines": (sum(text.count("\n") for text in texts), []),
        "lines of imports, share": (f"{import_share(texts):.1%}", []),
        "loose modules at the top": (len(loose), loose),
        "folders at the top": (len(folders), folders),
        "layers": (max(part_layers().values()), [f"{layer} {part}" for part, layer in sorted(part_layers().items())]),
        "longest chain of imports": (longest_chain(), []),
        "modules with one importer": (sum(len(each) == 1 for each in users.values()), []),
        f"of these below {SHORT} lines, registering nothing": (len(lonely()), lonely()),
        "functions named by a participle": (len(participles), participles),
        "of these banned": (len(banned), banned),
        "getattr probes": (len(probes()), probes()),
        "isinstance on own types": (len(every), []),
        "of these outside the owner's folder": (len(outside), outside),
    }
    for what, (value, names) in figures.items():
        print(f"{what}: {value}")
        for name in names if listed else ():
            print(f"    {name}")


def import_share(texts: list[str]) -> float:
    """Return the share of lines that import."""
    lines = [line for text in texts for line in text.splitlines()]
    inside = depth = 0
    for line in lines:
        if depth or re.match(r"\s*(from\s+\S+\s+import|import)\s", line):
            inside += 1
            depth += line.count("(") - line.count(")")
    return inside / len(lines)


if __name__ == "__main__":
    main()
