"""Choose the objects of a set that a plan leaves out, so that one broken object does not hold the rest."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from applyviz.engine.manifests.documents import ManifestDocument
from applyviz.engine.objects.refs import ObjectRef
from applyviz.engine.requests.options import ApplyOptions
from applyviz.engine.requests.replacement import list_object_names


def list_names(ref: ObjectRef, namespace: str) -> tuple[str, ...]:
    """Return the names under which options may choose an object: as written, and with the default namespace."""
    written = list_object_names(ref)
    return written if ref.namespace else (*written, *list_object_names(ref._replace(namespace=namespace)))


def is_left_out(ref: ObjectRef, options: ApplyOptions) -> bool:
    """Return whether the options leave an object of the source out."""
    return bool(options.left_out) and not set(list_names(ref, options.namespace)).isdisjoint(options.left_out)


def list_kept(documents: Iterable[ManifestDocument], options: ApplyOptions) -> tuple[ManifestDocument, ...]:
    """Return the documents that are not left out."""
    return tuple(document for document in documents if not is_left_out(document.ref, options))


def find_unknown(documents: Sequence[ManifestDocument], options: ApplyOptions) -> tuple[str, ...]:
    """Return the names of left-out objects that no document has."""
    known = {name for document in documents for name in list_names(document.ref, options.namespace)}
    return tuple(name for name in options.left_out if name not in known)
