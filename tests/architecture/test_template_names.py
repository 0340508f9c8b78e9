"""Every field that a template names is that of a read model or of Django, also where no test renders the template."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import lru_cache

from django.contrib.auth.models import User
from django.contrib.messages.storage.base import Message
from django.forms import BoundField, Form
from django.forms.boundfield import BoundWidget
from django.http import HttpRequest

from scripts.syntax import Syntax
from tests.architecture.tracked import ROOT, files_below, read_module

TEMPLATES = files_below("templates", ".html")
_TAG = re.compile(r"\{\{(.*?)\}\}|\{%(.*?)%\}", re.DOTALL)
_QUOTED = re.compile(r""""(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'""")
_PATH = re.compile(r"(?<![\w|:.])[A-Za-z]\w*(?:\.\w+)+")
_CLASSES = (User, BoundField, BoundWidget, Form, HttpRequest, Message, str, dict)
# What Django gives to templates beside the attributes of these classes: of loops, requests and models with choices.
_DJANGO = {"super", "counter", "counter0", "first", "last", "parentloop", "COOKIES", "resolver_match", "view_name"}
_DJANGO |= {"url_name", "theme", "get_kind_display", "get_state_display"}


def _names(module: Syntax) -> Iterator[str]:
    yield from (node.name for node in module.find(ast.FunctionDef))
    targets = [target for node in module.find(ast.Assign) for target in node.targets]
    targets += [node.target for node in module.find(ast.AnnAssign)]
    yield from (target.id for target in targets if isinstance(target, ast.Name))
    yield from (node.arg for node in module.find(ast.keyword) if node.arg)
    yield from (text for text in module.list_texts() if text.isidentifier())


@lru_cache(maxsize=1)
def _known() -> frozenset[str]:
    """The names that Python gives to fields, properties, and parts of pages."""
    found = {name for known in _CLASSES for name in dir(known)} | _DJANGO
    for path in files_below("applyviz", ".py"):
        found.update(_names(read_module(path)))
    return frozenset(found)


def find_unknown(text: str) -> set[str]:
    """The paths of a template with a part behind a dot that nothing in Python is called."""
    expressions = (_QUOTED.sub(" ", found[1] or found[2]) for found in _TAG.finditer(text))
    paths = {path for expression in expressions for path in _PATH.findall(expression)}
    return {path for path in paths if any(not n.isdigit() and n not in _known() for n in path.split(".")[1:])}


def test_templates_name_fields_that_exist():
    unknown = {str(path.relative_to(ROOT)): find_unknown(path.read_text()) for path in TEMPLATES}

    assert {name: found for name, found in unknown.items() if found} == {}


def test_field_that_nothing_is_called_is_found():
    text = (
        "{% for need in page.consent.needs %}{{ need.text|visible }}{% if not need.consentt %}{% endif %}{% endfor %}"
    )

    assert find_unknown(text) == {"page.consent.needs", "need.consentt"}
