"""Read a channel: a document of kind Addons without apiVersion, and its entries.

Rule: `channels/pkg/api` of kOps. An entry without a name has the name of the channel; unknown fields are ignored, as in
kOps. An entry with a field of another type is a problem of its own, and the other entries are read.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

from applyviz.engine.channels.model import Addon, PrunedKind
from applyviz.engine.channels.versions import RangeError, read_addon_version
from applyviz.engine.manifests.documents import DocumentProblem, ManifestDocument, ParsedFile, PlainPath, to_field_path
from applyviz.engine.objects.errors import ManifestError
from applyviz.engine.objects.structs import replace
from applyviz.engine.objects.values import JSONObject, get_at

KIND = "Addons"
_TEXTS = {
    "name": "name",
    "namespace": "namespace",
    "id": "id",
    "manifest": "manifest",
    "manifestHash": "manifest_hash",
    "kubernetesVersion": "kubernetes_version",
    "needsRollingUpdate": "needs_rolling_update",
    "version": "version",
}
_PRUNED = {"group": "group", "kind": "kind", "labelSelector": "label_selector", "fieldSelector": "field_selector"}
_ROLLING = ("control-plane", "workers", "all")
_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_NAME = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
"""The part of the name of an annotation after its prefix: records name the addon there."""


def take_channel_apart(parsed: ParsedFile) -> ParsedFile:
    """Return a file with its channel set apart: a document of kind Addons without apiVersion is one.

    - kubectl would report it as an object whose apiVersion is not set.
    """
    for problem in parsed.problems:
        if problem.document is not None and problem.document.obj.get("kind") == KIND:
            others = tuple(other for other in parsed.problems if other is not problem)
            return replace(parsed, problems=others, channel=problem.document)
    return parsed


def name_file(channel: str, manifest: str) -> str:
    """Return the name of an addon's file in the source: relative to the channel, or host and path of an address."""
    parts = urlsplit(manifest)
    if parts.scheme:
        return f"{parts.hostname}{parts.path}"
    path = posixpath.normpath(posixpath.join(posixpath.dirname(channel), manifest))
    while path.startswith("../"):
        path = path[3:]
    return path


class _EntryReader:
    """Reads one entry; raises `ManifestError` for a field of another type."""

    def __init__(self, document: ManifestDocument, path: PlainPath) -> None:
        self._document, self._path = document, path

    def error(self, reason: str, *path: str | int) -> ManifestError:
        """Return the error for a field of the entry."""
        whole = (*self._path, *path)
        named = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in whole)[1:]
        return ManifestError(f"{named} {reason}", self._document.positions.nearest(whole), to_field_path(whole))

    def read_texts(self, entry: JSONObject, names: Mapping[str, str], *path: str | int) -> dict[str, str]:
        """Return the texts of an entry that are there, by the names of our fields."""
        found = {}
        for name, field in names.items():
            value = entry.get(name)
            if value is not None and not isinstance(value, str):
                raise self.error("must be text", *path, name)
            if value is not None:
                found[field] = value
        return found

    def _read_list(self, entry: JSONObject, name: str, *path: str | int) -> list[Any]:
        value = entry.get(name)
        if value is not None and not isinstance(value, list):
            raise self.error("must be a list", *path, name)
        return value or []

    def _read_kind(self, kind: object, number: int) -> PrunedKind:
        if not isinstance(kind, dict):
            raise self.error("must be an object", "prune", "kinds", number)
        path = ("prune", "kinds", number)
        texts = self.read_texts(kind, _PRUNED, *path)
        namespaces = self._read_list(kind, "namespaces", *path)
        if not texts.get("kind") or not all(isinstance(name, str) for name in namespaces):
            raise self.error("needs a kind, and namespaces as texts", *path)
        return PrunedKind(namespaces=tuple(namespaces), **texts)

    def _name_file(self, manifest: str) -> str:
        try:
            return name_file(self._document.positions.file, manifest)
        except ValueError as error:
            raise self.error("must be a path or an address", "manifest") from error

    def _check_version(self, version: str) -> None:
        try:
            if version:
                read_addon_version(version)
        except RangeError as error:
            raise self.error(f"must be a semantic version: {error}", "version") from error

    def _check_names(self, name: str, namespace: str | None) -> None:
        """Raise `ManifestError` for names that no record can have, so that the addon could never be recorded."""
        if not _NAME.fullmatch(name):
            detail = "must be letters, digits, '-', '_' and '.', at most 63, as it names the annotation of the addon"
            raise self.error(detail, "name")
        if namespace is not None and not _NAMESPACE.fullmatch(namespace):
            raise self.error("must be the name of a namespace: its annotation records the addon", "namespace")

    def read(self, entry: object, name: str) -> Addon:
        """Return the addon; `name` is that of the channel."""
        if not isinstance(entry, dict):
            raise self.error("must be an object")
        texts = {"name": name, **self.read_texts(entry, _TEXTS)}
        if not texts["name"]:
            raise self.error("needs a name", "name")
        self._check_names(texts["name"], texts.get("namespace"))
        if not texts.get("manifest"):
            raise self.error("is missing: it names the file of the addon", "manifest")
        self._check_version(texts.get("version", ""))
        rolling = texts.get("needs_rolling_update", "")
        if rolling and rolling not in _ROLLING:
            raise self.error(f"must be one of {', '.join(_ROLLING)}", "needsRollingUpdate")
        if not isinstance(entry.get("needsPKI") or False, bool):
            raise self.error("must be true or false", "needsPKI")
        prune = entry.get("prune") or {}
        if not isinstance(prune, dict):
            raise self.error("must be an object", "prune")
        kinds = self._read_list(prune, "kinds", "prune")
        return Addon(
            **texts,
            file=self._name_file(texts["manifest"]),
            needs_pki=bool(entry.get("needsPKI")),
            prune=tuple(self._read_kind(kind, number) for number, kind in enumerate(kinds)),
            position=self._document.positions.nearest(self._path),
        )


def read_addons(document: ManifestDocument) -> tuple[tuple[Addon, ...], tuple[DocumentProblem, ...]]:
    """Return the entries of a channel in order, and the problem of each that cannot be read."""
    found: list[Addon] = []
    problems: list[DocumentProblem] = []
    for result in _read_entries(document):
        if isinstance(result, Addon):
            found.append(result)
        else:
            problems.append(DocumentProblem(result.reason, result.position, result.path, advice=result.advice))
    return tuple(found), tuple(problems)


def list_manifests(document: ManifestDocument) -> frozenset[str]:
    """Return the names of the files that the entries of a channel name, also those that cannot be read."""
    entries = get_at(document.obj, ("spec", "addons"))
    found = set()
    for entry in entries if isinstance(entries, list) else ():
        manifest = entry.get("manifest") if isinstance(entry, dict) else None
        if isinstance(manifest, str) and manifest:
            with suppress(ValueError):
                found.add(name_file(document.position.file, manifest))
    return frozenset(found)


def _read_entries(document: ManifestDocument) -> Iterator[Addon | ManifestError]:
    entries = get_at(document.obj, ("spec", "addons"))
    if not isinstance(entries, list):
        yield _EntryReader(document, ("spec", "addons")).error("must be the list of addons")
        return
    name = get_at(document.obj, ("metadata", "name"), "")
    for number, entry in enumerate(entries):
        if entry is None:
            continue
        try:
            yield _EntryReader(document, ("spec", "addons", number)).read(entry, name if isinstance(name, str) else "")
        except ManifestError as error:
            yield error
