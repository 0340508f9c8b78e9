"""List the texts of a manifest that become segments of a request path.

These are name, namespace, group and version of an object, and what a CustomResourceDefinition says about the path of
its kind.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from applyviz.engine.manifests.documents import PlainPath
from applyviz.engine.objects.kinds import CRD
from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.objects.values import JSONObject, JSONValue, get_at


class AddressPart(NamedTuple):
    """A text that becomes a segment: what it is in a message, and its field."""

    what: str
    text: str
    path: PlainPath


def list_address_parts(obj: JSONObject) -> Iterator[AddressPart]:
    """Yield the segments that an object with a decoded `metadata` states; absent ones and other types are left out."""
    gvk = GroupVersionKind.from_object(obj)
    yield AddressPart("group", gvk.group, ("apiVersion",))
    yield AddressPart("version", gvk.version, ("apiVersion",))
    metadata = obj.get("metadata") or {}
    for key, what in (("name", "resource name"), ("namespace", "namespace")):
        yield AddressPart(what, metadata.get(key) or "", ("metadata", key))
    if (gvk.group, gvk.kind) == CRD:
        yield from _list_defined(obj)


def _list_defined(crd: JSONObject) -> Iterator[AddressPart]:
    versions = get_at(crd, ("spec", "versions"))
    found: list[tuple[str, JSONValue, PlainPath]] = [
        ("group", get_at(crd, ("spec", "group")), ("spec", "group")),
        ("plural", get_at(crd, ("spec", "names", "plural")), ("spec", "names", "plural")),
    ]
    for number, version in enumerate(versions if isinstance(versions, list) else ()):
        if isinstance(version, Mapping):
            found.append(("version", version.get("name"), ("spec", "versions", number, "name")))
    for what, text, path in found:
        if isinstance(text, str):
            yield AddressPart(what, text, path)
