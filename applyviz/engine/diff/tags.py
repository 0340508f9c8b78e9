"""Tags of masks: keyed to the object and the path of the value, and the paths of list entries."""

from __future__ import annotations

import hashlib
import hmac
from collections import Counter
from collections.abc import Iterator, Mapping

from msgspec import Struct

from applyviz.engine.diff.marks import CLOSE, OPEN
from applyviz.engine.objects.values import JSONValue

_TAG_LENGTH = 12
Path = tuple[str, ...]


class MaskTags(Struct, frozen=True):
    """Makes masks whose tags depend on the key, the object and the path of the value."""

    key: bytes
    scope: str

    def make(self, content: bytes, path: Path) -> str:
        """Return the mask of content at a path."""
        parts = (self.scope, *path)
        message = b"".join(len(part).to_bytes(8, "big") + part for part in (*map(encode, parts), content))
        return f"{OPEN} {hmac.new(self.key, message, hashlib.sha256).hexdigest()[:_TAG_LENGTH]}{CLOSE}"


def encode(text: str) -> bytes:
    """Return the bytes of a text, also of one that is not valid Unicode."""
    return text.encode("utf-8", "surrogatepass")


def name_items(items: list[JSONValue], path: Path) -> Iterator[Path]:
    """Yield a distinct path for each entry of a list, its name and a counter, so that two guesses never share a tag."""
    seen: Counter[str] = Counter()
    for number, item in enumerate(items):
        name = item.get("name") if isinstance(item, Mapping) else None
        if isinstance(name, str):
            seen[name] += 1
            yield (*path, name, str(seen[name]))
        else:
            yield (*path, str(number))
