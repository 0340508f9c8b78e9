"""The marks that stand for masked values: how they are written, and how they are recognized in a text or a document."""

from __future__ import annotations

import json
import re
from collections.abc import Container, Mapping

from applyviz.engine.objects.values import JSONValue

# Neither base64 nor a Kubernetes name can contain these brackets: intake and sender refuse text that does.
OPEN, CLOSE = "\u27eamasked", "\u27eb"
_OPEN_BYTES, _OPEN_ESCAPED = OPEN.encode(), json.dumps(OPEN)[1:-1]
_TAGGED = re.compile(rf"({OPEN}|{re.escape(_OPEN_ESCAPED)}) [0-9a-f]+")


def is_masked_text(text: str) -> bool:
    """Return whether a text contains a mark, plain or with the escapes of JSON."""
    return OPEN in text or _OPEN_ESCAPED in text


def is_masked(value: JSONValue | bytes, plain: Container[object] = ()) -> bool:
    """Return whether a value is masked text or contains any; containers in `plain` are known to hold none."""
    if isinstance(value, str):
        return is_masked_text(value)
    # Hot: `isinstance` with an abstract class costs ten times as much as with a class.
    if isinstance(value, dict) or (not isinstance(value, list | bytes) and isinstance(value, Mapping)):
        if value in plain:
            return False
        # Hot, too: most parts are texts, and calls for them cost more than the search; a mark holds no line end.
        return is_masked_text("\n".join(value)) or any(
            (OPEN in item or _OPEN_ESCAPED in item) if type(item) is str else is_masked(item, plain)
            for item in value.values()
        )
    if isinstance(value, bytes):
        return _OPEN_BYTES in value
    return isinstance(value, list | tuple) and value not in plain and any(is_masked(item, plain) for item in value)


def find_tags(value: JSONValue) -> frozenset[str]:
    """Return the marks in a masked value, each with its tag, wherever they are written."""
    if isinstance(value, str):
        return frozenset(found.group() for found in _TAGGED.finditer(value))
    if isinstance(value, Mapping):
        return frozenset().union(*(find_tags(item) for pair in value.items() for item in pair))
    return frozenset().union(*map(find_tags, value)) if isinstance(value, list | tuple) else frozenset()


def remove_tags(value: JSONValue) -> JSONValue:
    """Return a masked value whose marks have no tags, so that equal and different secrets look alike."""
    if isinstance(value, str):
        return _TAGGED.sub(r"\1", value)
    if isinstance(value, Mapping):
        return {_TAGGED.sub(r"\1", name): remove_tags(item) for name, item in value.items()}
    return [remove_tags(item) for item in value] if isinstance(value, list | tuple) else value
