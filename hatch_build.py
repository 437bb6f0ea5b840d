"""A wheel with compiled kernels: for one platform and one Python, named so.

`make wheel` names the folder of kernels in `INDISTINCT_KERNELS`. Without it a wheel holds Python alone and serves all.
"""

import os
import platform
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# Numba's own wheels need newer systems than these, and kernels call nothing that it does not bring.
LINUX, MACOS = "manylinux_2_17", "macosx_11_0"
INSIDE = "indistinct/machine/kernels"


class KernelsHook(BuildHookInterface):  # type: ignore[type-arg, misc, unused-ignore]
    """Puts kernels into a wheel."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the kernels of a folder, if one is named, and the name of what they serve."""
        named = os.environ.get("INDISTINCT_KERNELS")
        if self.target_name != "wheel" or version != "standard" or not named:
            return
        kernels = sorted(Path(named).glob("*.kernel"))
        if not kernels:
            raise FileNotFoundError(f"no kernels are in {named}: `make kernels` compiles them")
        build_data["force_include"].update({str(path): f"{INSIDE}/{path.name}" for path in kernels})
        build_data["pure_python"] = False
        build_data["tag"] = wheel_tag()
        build_data["dependencies"].append(numba_bound())


def numba_bound() -> str:
    """Return the versions of Numba that a wheel with kernels asks for: the minor version that compiled them."""
    major, minor = metadata.version("numba").split(".")[:2]
    return f"numba=={major}.{minor}.*"


def wheel_tag() -> str:
    """Return the tag of a wheel that serves this Python on this platform."""
    python = f"cp{sys.version_info[0]}{sys.version_info[1]}"
    systems = {"Linux": LINUX, "Darwin": MACOS}
    return f"{python}-{python}{getattr(sys, 'abiflags', '')}-{systems[platform.system()]}_{platform.machine()}"
