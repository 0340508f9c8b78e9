"""Whether an answer of the server means what was asked for; nothing here asks the engine what a difference is.

Rule: the server fills in defaults, leaves out empty values, writes amounts in its own spelling, and keeps base64
without line breaks. The schema says which field is an amount or base64: any other text means what it says.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import reduce

from applyviz.conformance.covering import NOTHING
from applyviz.engine.diff.structural import is_equal_in_meaning
from applyviz.engine.diff.yaml_text import below
from applyviz.engine.objects.paths import FieldPath
from applyviz.engine.objects.values import JSONValue, is_same_json
from applyviz.engine.schema.topology import Topology


def means(asked: JSONValue, answer: JSONValue, root: Topology | None, path: FieldPath) -> bool:
    """Return whether an answer at a path has what was asked for; a null asks for no value."""
    return _means(asked, answer, reduce(below, path, root))


def _means(asked: JSONValue, answer: JSONValue, at: Topology | None) -> bool:
    if asked is None:
        return True
    if isinstance(asked, Mapping):
        given = answer if isinstance(answer, Mapping) else {}
        return all(_means(v, given.get(n, NOTHING), below(at, f"f:{n}")) for n, v in asked.items())
    if isinstance(asked, list):
        if not asked or not isinstance(answer, list) or len(asked) != len(answer):
            return not asked
        return all(_means(*pair, below(at, "i:0")) for pair in zip(asked, answer, strict=True))
    if answer is NOTHING:
        return not asked
    if at is not None and at.is_base64 and isinstance(asked, str) and re.sub(r"[\r\n]", "", asked) == answer:
        return True
    is_amount = at is not None and at.is_quantity
    return is_same_json(asked, answer) or (is_amount and is_equal_in_meaning(asked, answer))
