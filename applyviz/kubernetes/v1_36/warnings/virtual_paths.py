"""Warnings about files of a volume that hide one another.

Rule: overlapping virtual paths in `pkg/api/pod/warnings.go` of k8s.io/kubernetes v1.36.3.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from applyviz.engine.objects.values import JSONObject
from applyviz.kubernetes.v1_36.warnings.common import MOST_COMPARED

_File = tuple[str, str]
"""A path, and the source that it comes from."""


def _quote(file: _File) -> str:
    path, source = file
    return f'"{path}" ({source})' if source else f'"{path}"'


def _list_files(source: JSONObject, word: str = "") -> list[_File]:
    return [(item.get("path", ""), word) for item in source.get("items") or ()]


def _overlaps(files: Iterable[_File]) -> Iterator[str]:
    seen: list[tuple[str, _File]] = []
    for name, source in files:
        path = name.rstrip("/")
        if not path:
            continue
        inside = f"{path}/"
        for other_inside, other in seen:
            if inside.startswith(other_inside) or other_inside.startswith(inside):
                yield f"{_quote((path, source))} with {_quote(other)}"
        if len(seen) < MOST_COMPARED:
            seen.append((inside, (path, source)))


def _list_projected(source: JSONObject) -> list[_File]:
    for key, word in (("configMap", "ConfigMap"), ("secret", "Secret")):
        if (found := source.get(key)) and found.get("items") is not None:
            return _list_files(found, f'{word} "{found.get("name", "")}"')
    if (found := source.get("downwardAPI")) and found.get("items") is not None:
        return _list_files(found, "DownwardAPI")
    if found := source.get("serviceAccountToken"):
        return [(found.get("path", ""), "ServiceAccountToken")]
    if found := source.get("clusterTrustBundle"):
        return [(found.get("path", ""), f'ClusterTrustBundle "{found.get("name", found.get("signerName", ""))}"')]
    found = source.get("podCertificate") or {}
    words = (("certificateChainPath", "chain"), ("keyPath", "key"), ("credentialBundlePath", "credential bundle"))
    return [(found[key], f"PodCertificate {word}") for key, word in words if found.get(key)]


def warn_of_overlaps(volumes: Sequence[JSONObject]) -> Iterator[str]:
    """Yield the files of each volume that have one path, or of which one is inside the other."""
    for volume in volumes:
        head = f'volume "{volume.get("name", "")}"'
        for key, word, name in (("configMap", "ConfigMap", "name"), ("secret", "Secret", "secretName")):
            if found := volume.get(key):
                source = f'({word} "{found.get(name, "")}")'
                yield from (f"{head} {source}: overlapping paths: {text}" for text in _overlaps(_list_files(found)))
        if found := volume.get("downwardAPI"):
            yield from (f"{head} (DownwardAPI): overlapping paths: {text}" for text in _overlaps(_list_files(found)))
        sources = (volume.get("projected") or {}).get("sources") or ()
        yield from (f"{head} (Projected) has no sources provided" for source in sources if not source)
        files = [file for source in sources for file in _list_projected(source)]
        yield from (f"{head} (Projected): overlapping paths: {text}" for text in _overlaps(files))
