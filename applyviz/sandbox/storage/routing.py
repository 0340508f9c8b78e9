"""Parse a path to its resource, object and subresource.

Rule: https://kubernetes.io/docs/reference/using-api/api-concepts/#standard-api-terminology. Paths of other documents
(discovery, OpenAPI, version) are None.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from applyviz.engine.objects.request_paths import split_path

_NAMESPACE_PARTS = frozenset({"status", "finalize"})


class Route(Struct, frozen=True):
    """The parts of a path; a missing part is empty text."""

    group: str
    version: str
    plural: str
    namespace: str = ""
    name: str = ""
    subresource: str = ""


def _split_root(parts: Sequence[str]) -> tuple[str, str, Sequence[str]] | None:
    if len(parts) >= 3 and parts[0] == "api":
        return "", parts[1], parts[2:]
    if len(parts) >= 4 and parts[0] == "apis":
        return parts[1], parts[2], parts[3:]
    return None


def parse_path(path: str) -> Route | None:
    """Parse the path of a request; None also where a segment, once decoded, is no segment."""
    parts = split_path("/" + path.strip("/"))
    root = _split_root(parts) if parts is not None else None
    if root is None:
        return None
    group, version, rest = root
    namespace = ""
    if rest[0] == "namespaces" and len(rest) >= 3 and not (len(rest) == 3 and rest[2] in _NAMESPACE_PARTS):
        namespace, rest = rest[1], rest[2:]
    if len(rest) > 3:
        return None
    name, subresource = (*rest[1:], "", "")[:2]
    return Route(group, version, rest[0], namespace, name, subresource)
