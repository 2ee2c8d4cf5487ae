"""Build hook: the literal prefilter becomes a dependency wherever it has a wheel, and the rules ship in a form that is read fast.

No environment marker tells glibc from musl, so the choice cannot stand in `pyproject.toml` (docs/decisions/0005). A wheel that
depends on the prefilter is tagged for its platform, so that nothing else installs it; every other wheel is `py3-none-any` without it.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from packaging.tags import platform_tags

PREFILTER_PLATFORMS = frozenset(
    {"manylinux_2_17_x86_64", "manylinux_2_17_aarch64", "macosx_10_12_x86_64", "macosx_11_0_arm64", "win_amd64"}
)


def prefilter_platform() -> str | None:
    """The platform tag of the prefilter's wheels that this machine can install, or None."""
    return next((tag for tag in platform_tags() if tag in PREFILTER_PLATFORMS), None)


class PrefilterHook(BuildHookInterface):
    """Add the extra `fast` to the dependencies of a wheel that is built where those can be installed."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called by hatchling before it packs a wheel, an editable one too."""
        platform = prefilter_platform()
        if platform is not None:
            build_data["dependencies"] += self.metadata.core.optional_dependencies["fast"]
            build_data["tag"] = f"py3-none-{platform}"
        if version != "editable":
            build_data["force_include"][self._bundle()] = "logphase/rules/bundle.json"

    def _bundle(self) -> str:
        """The rules without their examples, as one JSON file: a command's start is what its user feels."""
        sys.path.insert(0, self.root)
        from logphase.rulefiles import bundle

        place = Path(tempfile.mkdtemp()) / "bundle.json"
        place.write_text(bundle(Path(self.root) / "rules"), "utf-8")
        return str(place)
