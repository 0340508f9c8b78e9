"""What the manifest says and the server does not do, or does otherwise than a reader expects.

Rules: `stringData` of a Secret is written into `data` and never removed from there (`pkg/apis/core/v1/conversion.go`);
a Service keeps its cluster IP (`pkg/registry/core/service/storage/storage.go`);
`serviceAccount` is an alias that fills `serviceAccountName` again (the same file); the main path of a kind with a
status subresource ignores `status`; autoscaling/v1 keeps the metrics and the behavior of an autoscaler in annotations
(`pkg/apis/autoscaling/v1/conversion.go`); a `caBundle` is often injected.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Mapping

from applyviz.engine.objects.known_names import CLIENT_SIDE_MANAGER, LAST_APPLIED
from applyviz.engine.objects.lookups import ABSENT, FieldFinder
from applyviz.engine.objects.paths import FieldPath, field, fields
from applyviz.engine.objects.values import JSONObject, JSONValue, get_at, is_same_json
from applyviz.engine.references.pods import POD_SPECS
from applyviz.engine.references.resolving import ENTRIES
from applyviz.engine.risks.model import Facts, Risk, RiskKind, RiskLevel, RiskSubject, Templates
from applyviz.engine.risks.owners import fields_of, is_ours, list_entries, owns_at
from applyviz.engine.risks.rules import rule
from applyviz.engine.risks.walking import is_within, map_at, position_of

# What version v1 of an autoscaler does not have, by the annotation that keeps it there.
_CARRIED = {f"autoscaling.alpha.kubernetes.io/{name}": name for name in ("metrics", "behavior")}
_SERVER_SIDE = "kubectl"
_APPLIED = (_SERVER_SIDE, "Apply")
# What kubectl calls itself by either way of applying: ownership may have moved between them.
_KUBECTL = (_SERVER_SIDE, CLIENT_SIDE_MANAGER)
_RECORD = ("metadata", "annotations", LAST_APPLIED)
_CLUSTER_IP = ("spec", "clusterIP")
_NAME, _ALIAS = "serviceAccountName", "serviceAccount"
_ENCODED = (("Secret", "data"), ("ConfigMap", "binaryData"))


def _describe_kept(f: Facts) -> Templates:
    if f["how"] == "alias":
        return ("You no longer set this field, but it stays: its deprecated alias serviceAccount keeps the value.",)
    if f["how"] == "version":
        return ("You no longer set {entry}, but it stays: autoscaling/v1 cannot set it and keeps it in an annotation.",)
    if f["how"] == "address":
        return ("You no longer set clusterIP, but it stays: a Service keeps it until it is deleted or needs none.",)
    return ("You no longer set {entry}, but it stays in data: an apply only adds what stringData has.",)


def _describe_record(f: Facts) -> Templates:
    if f["how"] == "client":
        return ("The manifest sets the last-applied annotation, which is not sent: kubectl replaces it with its own.",)
    sets = "The manifest sets the last-applied annotation, which this apply does not send. kubectl "
    if f["how"] == "conflict":
        return (sets + "would send it and conflict with {owners}.",)
    return (sets + "would send it, and the server would replace it with the manifest.",)


REMOVAL_WITHOUT_EFFECT = RiskKind("removal-without-effect", "Removal without effect", _describe_kept)
STATUS_IGNORED = RiskKind(
    "status-ignored",
    "Status is ignored",
    "The manifest sets status, which this apply ignores: only the status subresource writes it.",
    level=RiskLevel.INFO,
)
RECORD_IGNORED = RiskKind(
    "record-ignored",
    "Last-applied is ignored",
    _describe_record,
    level=RiskLevel.INFO,
)
INJECTED_VALUE = RiskKind(
    "injected-value",
    "Injected certificate replaced",
    "The manifest replaces the caBundle that {owners} wrote: calls fail where the certificate does not match it.",
    level=RiskLevel.HIGH,
)
INVALID_ENTRY = RiskKind(
    "invalid-entry",
    "Unreadable entry",
    "The entry {entry} of {part} is not {what}, so the server refuses the object.",
    level=RiskLevel.HIGH,
)


def _was_applied(subject: RiskSubject, path: tuple[str, ...]) -> bool:
    """Return whether this manager set a field before: in last-applied, or as an owner of the live field."""
    if not subject.is_server_side:
        return get_at(subject.last_applied, path) is not None
    tries = (fields_of(entry) for entry in list_entries(subject.live) if is_ours(entry, subject))
    return any(get_at(trie, fields(*path), ABSENT) is not ABSENT for trie in tries)


def _list_applied(subject: RiskSubject, part: str) -> list[str]:
    """Return the names of the entries of a map that this manager set before.

    - A server-side apply leaves no last-applied annotation: a client-side apply that follows it reads the owners, too.
    """
    entries = list_entries(subject.live)
    if subject.is_server_side:
        ours = [entry for entry in entries if is_ours(entry, subject)]
    else:
        managers = (subject.field_manager, *_KUBECTL)
        ours = [one for one in entries if one.get("operation") == "Apply" and one.get("manager") in managers]
    found = dict.fromkeys(name for entry in ours for name in map_at(fields_of(entry), field(part)))
    applied = () if subject.is_server_side else map_at(subject.last_applied, part)
    return list(dict.fromkeys((*applied, *(name[2:] for name in found if name.startswith("f:")))))


def _keeps_address(subject: RiskSubject) -> bool:
    """Return whether a Service keeps the cluster IP that the manifest no longer sets."""
    if subject.ref.key[:2] != ("", "Service") or get_at(subject.manifest, _CLUSTER_IP):
        return False
    live, result = (get_at(obj, _CLUSTER_IP) for obj in (subject.live, subject.result))
    return bool(live) and live == result and _was_applied(subject, _CLUSTER_IP)


@rule(130)
def find_kept(subject: RiskSubject) -> Iterator[Risk]:
    """Yield the removals without an effect: entries of `stringData`, a service account with its alias, a cluster IP."""
    manifest, result = subject.manifest, subject.result
    if manifest is None or subject.live is None or result is None:
        return
    if subject.ref.key[:2] == ("", "Secret"):
        written = {**map_at(manifest, "stringData"), **map_at(manifest, "data")}
        stored = map_at(result, "data")  # an entry goes where `data` itself is dropped
        for name in _list_applied(subject, "stringData"):
            if name not in written and name in stored:
                facts = {"how": "string-data", "entry": name}
                yield REMOVAL_WITHOUT_EFFECT.at(fields("stringData", name), facts, level=RiskLevel.HIGH)
    if _keeps_address(subject):
        yield REMOVAL_WITHOUT_EFFECT.at(fields(*_CLUSTER_IP), {"how": "address"})
    for above in POD_SPECS:
        named, alias = (*above, _NAME), (*above, _ALIAS)
        is_set = any(one in map_at(manifest, *above) for one in (_NAME, _ALIAS))
        if is_set or not get_at(result, named) or not get_at(result, alias) or not _was_applied(subject, named):
            continue
        if not _was_applied(subject, alias):
            yield REMOVAL_WITHOUT_EFFECT.at(fields(*named), {"how": "alias"})


def _set_at_another_version(subject: RiskSubject, part: str) -> bool:
    """Return whether this manager set a part of the spec by another version of the kind."""
    if get_at(subject.last_applied, ("spec", part)) is not None:
        return True
    ours = (subject.field_manager, *subject.taken_managers, *_KUBECTL)
    entries = (entry for entry in list_entries(subject.live) if entry.get("manager") in ours)
    return any(get_at(fields_of(entry), fields("spec", part), ABSENT) is not ABSENT for entry in entries)


@rule(140)
def find_carried(subject: RiskSubject) -> Iterator[Risk]:
    """Yield the parts of an autoscaler that a manifest at autoscaling/v1 dropped and that stay in an annotation."""
    manifest = subject.manifest or {}
    if subject.ref.key[:2] != ("autoscaling", "HorizontalPodAutoscaler") or subject.live is None:
        return
    for name, part in _CARRIED.items():
        path = ("metadata", "annotations", name)
        is_kept = get_at(subject.result, path) is not None and get_at(manifest, path) is None
        if is_kept and manifest.get("apiVersion") == "autoscaling/v1" and _set_at_another_version(subject, part):
            yield REMOVAL_WITHOUT_EFFECT.at(fields(*path), {"how": "version", "entry": f"spec.{part}"})


def _has_value(value: JSONValue) -> bool:
    if isinstance(value, Mapping):
        return any(map(_has_value, value.values()))
    return any(map(_has_value, value)) if isinstance(value, list) else value is not None


@rule(150)
def find_status(subject: RiskSubject) -> Iterator[Risk]:
    """Yield the status of a manifest that the server does not write."""
    manifest, result, kind = subject.manifest, subject.result, subject.kind
    if manifest is None or result is None or kind is None or not kind.has_status or subject.is_merge_only:
        return
    status = manifest.get("status")
    if _has_value(status) and not is_within(status, result.get("status")):
        yield STATUS_IGNORED.at(fields("status"), position=position_of(subject, ("status",)))


@rule(155)
def find_record(subject: RiskSubject) -> Iterator[Risk]:
    """Yield the last-applied annotation of a manifest, which is not sent, with what kubectl itself does with it.

    - kubectl drops it client-side. Server-side it sends it: the server then keeps the annotation of the manager
      `kubectl` in step with each apply, unless another manager owns another text.
    - Another manager of server-side apply sets it as any annotation, and so does a patch that a person wrote.
    """
    if subject.manifest is None or (subject.is_server_side and subject.field_manager != _SERVER_SIDE):
        return
    wanted = get_at(subject.manifest, _RECORD)
    is_sent = isinstance(subject.patch, Mapping) and get_at(subject.patch, _RECORD) == wanted
    if wanted is not None and not is_sent:
        yield RECORD_IGNORED.at(fields(*_RECORD), _find_fate(subject, wanted), position_of(subject, _RECORD))


def _find_fate(subject: RiskSubject, wanted: JSONValue) -> dict[str, str]:
    """Return what `kubectl apply` does with the last-applied annotation of a manifest; forced, it never conflicts."""
    if not subject.is_server_side:
        return {"how": "client"}
    others = [one for one in list_entries(subject.live) if (one.get("manager"), one.get("operation")) != _APPLIED]
    owners = dict.fromkeys(str(one.get("manager")) for one in others if owns_at(one, fields(*_RECORD)))
    if subject.is_forced or not owners or get_at(subject.live, _RECORD) == wanted:
        return {"how": "server"}
    return {"how": "conflict", "owners": ", ".join(owners)}


def _list_bundles(trie: JSONObject, path: FieldPath = ()) -> Iterator[FieldPath]:
    for element, below in trie.items():
        if element == "f:caBundle":
            yield (*path, element)
        elif isinstance(below, Mapping):
            yield from _list_bundles(below, (*path, element))


@rule(180)
def find_injected(subject: RiskSubject) -> Iterator[Risk]:
    """Yield the certificates of another manager that a client-side apply replaces; server-side, they conflict."""
    if subject.is_server_side or subject.manifest is None or subject.live is None or subject.result is None:
        return
    wanted, live, after = (FieldFinder(obj) for obj in (subject.manifest, subject.live, subject.result))
    found: dict[FieldPath, list[str]] = {}
    for entry in list_entries(subject.live):
        for path in () if is_ours(entry, subject) else _list_bundles(fields_of(entry)):
            found.setdefault(path, []).append(str(entry.get("manager")))
    for path, owners in found.items():
        if wanted.find(path) is not ABSENT and not is_same_json(live.find(path), after.find(path)):
            yield INJECTED_VALUE.at(path, {"owners": ", ".join(dict.fromkeys(owners))})


def _is_base64(text: str) -> bool:
    try:
        base64.b64decode(re.sub(r"[\r\n]", "", text), validate=True)
    except (binascii.Error, ValueError):
        return False
    return True


@rule(190)
def find_invalid_entries(subject: RiskSubject) -> Iterator[Risk]:
    """Yield the entries of a ConfigMap or Secret that the server cannot read; their values are not named.

    - What YAML reads otherwise than it is written is another risk.
    """
    group, kind = subject.ref.key[:2]
    retyped = {note.path for note in subject.document.retyped} if subject.document is not None else set()
    for part in ENTRIES.get(kind, ()) if not group and subject.manifest is not None else ():
        for name, value in map_at(subject.manifest, part).items():
            what = "" if isinstance(value, str) or value is None or (part, name) in retyped else "text"
            if (kind, part) in _ENCODED and isinstance(value, str) and not _is_base64(value):
                what = "base64"
            if what:
                position = position_of(subject, (part, name))
                yield INVALID_ENTRY.at(fields(part, name), {"entry": name, "part": part, "what": what}, position)
