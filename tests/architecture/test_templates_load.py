"""Every template compiles: each tag, filter, include and parent that it names exists."""

from __future__ import annotations

from pathlib import Path

from django.template import TemplateDoesNotExist, TemplateSyntaxError
from django.template.loader import get_template

TEMPLATES = Path(__file__).parents[2] / "templates"


def test_every_template_compiles() -> None:
    wrong = dict[str, str]()
    for path in sorted(TEMPLATES.rglob("*.html")):
        try:
            get_template(str(path.relative_to(TEMPLATES)))
        except (TemplateSyntaxError, TemplateDoesNotExist) as error:
            wrong[str(path.relative_to(TEMPLATES))] = str(error)

    assert wrong == {}
