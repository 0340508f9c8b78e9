"""Digits are ASCII digits: Python's own checks also accept those of other scripts, which Go and databases refuse."""

from __future__ import annotations

import ast

from tests.architecture.tracked import ROOT, files_below, read_module

_ASKED_ONCE = "applyviz/engine/objects/golang.py"
_OF_BYTES = "applyviz/sources/charts/tar.py"


def find_unicode_digits() -> list[str]:
    """Checks of digits outside of the module that asks for ASCII, and patterns that accept every script."""
    found = []
    for path in files_below("applyviz", ".py"):
        name = str(path.relative_to(ROOT))
        if name not in (_ASKED_ONCE, _OF_BYTES):
            calls = (node for node in read_module(path).find(ast.Attribute))
            found += [name for node in calls if node.attr in ("isdigit", "isdecimal", "isnumeric")]
        texts = (node.value for node in read_module(path).find(ast.Constant) if isinstance(node.value, str))
        found += [name for text in texts if "\\d" in text]
    return found


def test_every_digit_is_one_of_ascii():
    assert find_unicode_digits() == []
