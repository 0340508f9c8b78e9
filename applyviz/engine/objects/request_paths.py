"""Build the path of a request, and decide which texts may be a segment of one.

Rule: `IsValidPathSegmentName` of k8s.io/apimachinery, which client-go asks before it builds a path: the API server
decodes a path before it splits it, so that an encoded "/" in a name leads to another resource as a plain one does.
"""

from __future__ import annotations

import re
from urllib.parse import quote, unquote

# What url.PathEscape of Go leaves as it is, besides letters, digits and "-._~".
_SAFE = "$&+=:@"
# Segments of these characters alone are their own encoding; nearly all are, and quoting one takes ten times as long.
_PLAIN = re.compile(rf"[A-Za-z0-9\-._~{_SAFE}]+")
_NEVER = (".", "..")
_NEVER_IN = ("/", "%")


def find_segment_problem(text: str) -> str:
    """Return why a text cannot be a segment of a path, in the words of Kubernetes; "" if it can."""
    if text in _NEVER:
        return f"may not be '{text}'"
    return " ".join(f"may not contain '{part}'" for part in _NEVER_IN if part in text)


def is_segment(text: str) -> bool:
    """Return whether a text can be a segment of a path."""
    return bool(text) and not find_segment_problem(text)


def join_path(*segments: str) -> str:
    """Return the path of the segments, each encoded; empty ones are left out.

    - A segment that `is_segment` refuses makes a path that `split_path` refuses, and with it every client.
    """
    return "/" + "/".join(_encode(segment) for segment in segments if segment)


def _encode(segment: str) -> str:
    return segment if _PLAIN.fullmatch(segment) else quote(segment, safe=_SAFE, errors="replace")


def make_path(
    group: str, version: str, plural: str, *, namespace: str = "", name: str = "", subresource: str = ""
) -> str:
    """Return the path of a collection, an object, or a subresource of it."""
    root = ("apis", group) if group else ("api",)
    scope = ("namespaces", namespace) if namespace else ()
    return join_path(*root, version, *scope, plural, name, subresource)


def split_path(path: str) -> tuple[str, ...] | None:
    """Return the decoded segments of a path; None if one of them is no segment."""
    if not path.startswith("/"):
        return None
    segments = tuple(unquote(part) for part in path[1:].split("/"))
    return segments if all(map(is_segment, segments)) else None
