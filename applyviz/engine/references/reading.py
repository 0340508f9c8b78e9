"""Read untrusted objects: a value of another shape than expected counts as absent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from applyviz.engine.objects.values import JSONObject, JSONValue, get_at


def map_at(value: JSONValue, *path: str) -> JSONObject:
    """Return the map at a path, {} if there is none."""
    found = get_at(value, path)
    return found if isinstance(found, Mapping) else {}


def text_at(value: JSONValue, *path: str) -> str:
    """Return the text at a path, "" if there is none."""
    found = get_at(value, path)
    return found if isinstance(found, str) else ""


def list_entries(value: JSONValue) -> Iterator[tuple[int, JSONObject]]:
    """Yield the maps of a list with their positions."""
    for position, entry in enumerate(value if isinstance(value, list) else ()):
        # Hot: `isinstance` with an abstract class costs ten times as much as the exact type.
        if type(entry) is dict or isinstance(entry, Mapping):
            yield position, entry
