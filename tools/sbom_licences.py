"""Add licences to a list of components (CycloneDX): those that the installed packages declare.

python tools/sbom_licences.py dist/indistinct.cdx.json
"""

import json
import sys
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path
from typing import Any

# A longer text is the licence itself, and not its name.
LONGEST_NAME = 100


def main(path: Path) -> None:
    """Add the licences to a file, and print the components that declare none."""
    document = json.loads(path.read_text(encoding="utf-8"))
    unknown = []
    for component in document.get("components", []):
        licences = licences_of(component["name"])
        if licences:
            component["licenses"] = licences
        else:
            unknown.append(component["name"])
    path.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    for name in unknown:
        print(f"{name}: not installed here, or without a licence in its metadata")


def licences_of(name: str) -> list[dict[str, Any]]:
    """Return the licences of an installed package, as CycloneDX writes them; none of one that is not there."""
    try:
        told = metadata(name)
    except PackageNotFoundError:
        return []
    for expression in told.get_all("License-Expression") or []:
        return [{"expression": expression}]
    classifiers = [each for each in told.get_all("Classifier") or [] if each.startswith("License ::")]
    names = [each.rpartition(" :: ")[2] for each in classifiers if each.count("::") > 1]
    text = "".join(told.get_all("License") or []).strip()
    if not names and text and len(text) <= LONGEST_NAME and "\n" not in text:
        names = [text]
    return [{"license": {"name": each}} for each in names]


if __name__ == "__main__":
    main(Path(sys.argv[1]))
