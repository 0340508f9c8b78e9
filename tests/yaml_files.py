"""Read the YAML files of tests, with the C loader if PyYAML has it.

The loader in Python took half of the time to collect the tests of the engine.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def read_yaml(path: Path) -> Any:
    """Return what a YAML file of one document holds."""
    return yaml.load(path.read_text(encoding="utf-8"), Loader=_LOADER)
