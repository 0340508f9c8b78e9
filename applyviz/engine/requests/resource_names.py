"""Read the names of objects as kubectl writes them: `deployment/web`, `deploy web`, `Widget.v1.example.com/main`.

Rule: resource arguments of kubectl, `TYPE[.VERSION][.GROUP]/NAME`. No cluster is asked: a kind that Kubernetes itself
does not have is written with its kind, version and group.
"""

from __future__ import annotations

import re

from applyviz.engine.objects.errors import ManifestError
from applyviz.engine.objects.refs import GroupVersionKind, ObjectRef
from applyviz.engine.schema.builtin import bundled
from applyviz.engine.schema.model import Resource

_VERSION = re.compile(r"v[0-9]+((alpha|beta)[0-9]+)?")
_NAME = re.compile(r"[a-zA-Z0-9]([-a-zA-Z0-9._:]*[a-zA-Z0-9])?")
_WRITE = "expected deployment/web, or Kind.version.group/name for a kind that Kubernetes itself does not have"


def _is_called(resource: Resource, word: str) -> bool:
    names = (resource.plural, resource.singular, resource.gvk.kind.lower(), *resource.short_names)
    return word.lower() in names


def _find_kind(text: str) -> GroupVersionKind | None:
    word, _, rest = text.partition(".")
    first, _, others = rest.partition(".")
    version, group = (first, others) if _VERSION.fullmatch(first) else ("", rest)
    for resource in bundled().list_resources():
        gvk = resource.gvk
        if _is_called(resource, word) and version in ("", gvk.version) and (not rest or group == gvk.group):
            return gvk
    is_whole = bool(version and group and word[:1].isupper())
    return GroupVersionKind(group, version, word) if is_whole else None


def parse_object(text: str, *, namespace: str) -> ObjectRef:
    """Return the object that a text names, in a namespace if its kind has one.

    - A namespace is also given to an object of an unknown kind; planning removes it where the kind has none.
    - Raises `ManifestError` with what is wrong, and how to write it.
    """
    kind, slash, name = (part.strip() for part in text.strip().replace(" ", "/", 1).partition("/"))
    if not slash or not _NAME.fullmatch(name):
        raise ManifestError(f"{text.strip()} names no object: {_WRITE}")
    gvk = _find_kind(kind)
    if gvk is None:
        raise ManifestError(f"there is no kind {kind}: {_WRITE}")
    resource = bundled().find_resource(gvk)
    is_namespaced = resource is None or resource.is_namespaced
    return ObjectRef(gvk, namespace if is_namespaced else "", name)
