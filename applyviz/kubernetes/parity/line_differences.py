"""Differences of two structs line by line, as the server prints them.

Rule: `Diff` of k8s.io/apimachinery `pkg/util/diff`, whose go-difflib is a port of Python's difflib.
"""

from __future__ import annotations

import difflib
import json

from applyviz.engine.objects.values import JSONValue

# Go escapes these in JSON, because a browser could read them as HTML.
_HTML = str.maketrans({sign: f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"})


def render_differences(before: JSONValue, after: JSONValue) -> str:
    """Return the lines that differ, with three lines around them; fields are printed in the order of the values."""
    old, new = (_render(value).splitlines(keepends=True) for value in (before, after))
    lines = list(difflib.unified_diff(old, new))
    return "".join(lines[2:])  # without the names of files, which there are none of


def _render(value: JSONValue) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1).translate(_HTML) + "\n"
