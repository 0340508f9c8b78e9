"""YAML files of tests, read with the C loader where it is built: half of the time to collect the engine's tests went
into the other one.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def read_yaml(path: Path) -> Any:
    """Return what a YAML file of one document holds."""
    return yaml.load(path.read_text(encoding="utf-8"), Loader=_LOADER)
