"""Every template compiles: each tag, filter, include and parent that it names exists."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.template.loader import get_template

TEMPLATES = Path(__file__).parents[2] / "templates"


@pytest.mark.parametrize("name", sorted(str(path.relative_to(TEMPLATES)) for path in TEMPLATES.rglob("*.html")))
def test_template_compiles(name: str) -> None:
    get_template(name)  # raises when anything is missing
