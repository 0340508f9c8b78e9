"""Refuse every request whose path applyviz did not build: the last look before a request leaves.

Rule: names, namespaces and kinds come from manifests, so each of them is one segment, and the segments are those of the
object that the request is about (https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-uris).
"""

from __future__ import annotations

from applyviz.clusters.errors import NotSentError
from applyviz.engine.objects.exchange import Request
from applyviz.engine.objects.kinds import NAMESPACE
from applyviz.engine.objects.request_paths import join_path, split_path

_SUBRESOURCES = frozenset(("", "scale", "status"))
_DOCUMENTS = frozenset((("api",), ("apis",), ("version",), ("readyz",), ("openapi", "v3")))
_MOST = 3  # plural, name, subresource


def _find_resource_parts(request: Request, segments: tuple[str, ...]) -> tuple[str, tuple[str, ...]] | None:
    """Return the namespace and the segments from the plural on; None for a path that leads to no resource."""
    depth = {"api": 1, "apis": 2}.get(segments[0])
    if depth is None:
        return None
    ref = request.ref
    # A kind without a version has a path without one, which the server answers with 404, as it answers kubectl.
    rest = segments[depth + (0 if ref is not None and not ref.gvk.version else 1) :]
    is_namespace = (ref.key[:2] == NAMESPACE) if ref is not None else len(rest) < _MOST
    if rest[:1] == ("namespaces",) and not is_namespace:
        return (rest[1], rest[2:]) if len(rest) >= _MOST else None
    return "", rest


def is_built(request: Request) -> bool:
    """Return whether a path is one that applyviz builds, and leads to the object that the request names."""
    segments = split_path(request.path)
    if segments is None or join_path(*segments) != request.path:
        return False
    if segments in _DOCUMENTS or segments[:2] == ("openapi", "v3"):
        return not request.is_write
    parts = _find_resource_parts(request, segments)
    if parts is None or not 1 <= len(parts[1]) <= _MOST:
        return False
    namespace, (_plural, name, subresource) = parts[0], (*parts[1], "", "")[:_MOST]
    if subresource not in _SUBRESOURCES:
        return False
    ref = request.ref
    return ref is None or (namespace == ref.namespace and name == ("" if request.method == "POST" else ref.name))


def check_request(request: Request) -> None:
    """Raise `NotSentError` for a request that applyviz did not build."""
    if not is_built(request):
        raise NotSentError(f"the path of a {request.method} request is not that of its object, so it was not sent")
