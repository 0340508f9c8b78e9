"""Differences of two structs line by line, as the server prints them.

Rule: `Diff` of k8s.io/apimachinery `pkg/util/diff`, whose go-difflib is a port of Python's difflib. Its search
takes the square of the lines, so only the first ones are compared.
"""

from __future__ import annotations

import difflib
import json
import re

from applyviz.engine.objects.values import JSONValue

_MOST_LINES = 1000
_LINE = re.compile(r".*\n")
# Go escapes these in JSON, because a browser could read them as HTML.
_HTML = str.maketrans({sign: f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"})


def render_differences(before: JSONValue, after: JSONValue) -> str:
    """Return the lines that differ, with three lines around them; fields are printed in the order of the values."""
    old, new = (_LINE.findall(_render(value))[:_MOST_LINES] for value in (before, after))
    lines = list(difflib.unified_diff(old, new))
    return "".join(lines[2:])  # without the header, because there are no files to name


def _render(value: JSONValue) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1).translate(_HTML) + "\n"
