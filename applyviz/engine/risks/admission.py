"""Admission changed a field: the dry run returned another value than the merge.

Rule: https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/ (mutating admission runs in a dry
run too). Only fields that the manifest sets are compared; quantities are compared by amount, base64 without its line
breaks. Other fields may follow one of them, as `serviceAccount` follows `serviceAccountName`, and node ports the type
of a Service.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from applyviz.engine.diff.structural import is_same_at, is_without_breaks
from applyviz.engine.manifests.documents import PlainPath
from applyviz.engine.objects.known_names import LAST_APPLIED
from applyviz.engine.objects.lookups import ABSENT, find_value
from applyviz.engine.objects.values import JSONValue, is_same_json
from applyviz.engine.risks.model import Risk, RiskKind, RiskSubject
from applyviz.engine.risks.rules import rule
from applyviz.engine.risks.walking import begins_with, field_path, find_field, position_of

_SKIPPED = frozenset(("status", "stringData"))
# What people write in the metadata of an object; everything else there is kept by the server.
_WRITTEN = frozenset(("labels", "annotations", "finalizers", "ownerReferences"))

ADDED = "added"
_ANSWERS = {
    "": "The server set {field} to a different value than the manifest.",
    "kept": "The server keeps the live value of {field} and ignores the value in the manifest.",
    ADDED: "The server adds entries to {field} that the manifest does not have.",
    "left-out": "The server leaves {field} out, although the manifest sets it.",
}
ADMISSION_CHANGED = RiskKind(
    "admission-changed", "The server changed a value", lambda f: (_ANSWERS[f["how"]],), is_beside_field=True
)


def is_overruled(risk: Risk) -> bool:
    """Return whether the server did not take a value of the manifest; it may also add entries to one that it took."""
    return risk.kind is ADMISSION_CHANGED and risk.facts["how"] != ADDED


def _is_of_server(path: PlainPath) -> bool:
    """Return whether the server writes a field whatever the manifest says, or kubectl does."""
    if path[0] != "metadata":
        return len(path) == 1 and path[0] in _SKIPPED
    return (len(path) == 2 and path[1] not in _WRITTEN) or path[1:] == ("annotations", LAST_APPLIED)


def _changed(asked: JSONValue, given: JSONValue, path: PlainPath) -> Iterator[tuple[PlainPath, JSONValue, JSONValue]]:
    if asked is given:
        return
    if isinstance(asked, Mapping) and isinstance(given, Mapping):
        for name, value in asked.items():
            if value is not None and not _is_of_server((*path, name)):
                yield from _changed(value, given.get(name), (*path, name))
    elif isinstance(asked, list) and isinstance(given, list) and len(asked) == len(given):
        for index, value in enumerate(asked):
            yield from _changed(value, given[index], (*path, index))
    elif not is_same_json(asked, given) and (asked or given) and asked not in ([], {}):
        # The server may omit empty values (false, 0, ""): omitting means the same. An empty list gets its default.
        yield path, asked, given


def _is_set(subject: RiskSubject, path: PlainPath, asked: JSONValue, given: JSONValue) -> bool:
    """Return whether the manifest sets the merged value, and the server changed more than the spelling of it.

    - A list may differ: the merge may add entries to that of the manifest. The schema says what is an amount or base64.
    """
    field = find_field(subject, path)
    if field is None or not (isinstance(asked, (Mapping, list)) or is_same_at(field.node, (), field.value, asked)):
        return False
    is_base64 = field.node is not None and field.node.format == "byte"
    return not (is_same_at(field.node, (), asked, given) or (is_base64 and is_without_breaks(asked, given)))


def _name_answer(subject: RiskSubject, path: PlainPath, kept: dict[PlainPath, bool]) -> str:
    """Return whether the server left the value out, kept the live one, or chose another one ("").

    - `kept` remembers of each value, and of each entry of a list, whether it is the live one.
    """
    versions = (subject.live, subject.after)
    before, now = (find_value(obj, field_path(path)) for obj in versions)
    if now is ABSENT or before is ABSENT:
        return "left-out" if now is ABSENT else ""
    # At the same place of a list, the live object may have another entry.
    entry = path[: next((n for n, step in enumerate(path, 1) if isinstance(step, int)), len(path))]
    if entry not in kept:
        kept[entry] = is_same_json(*(find_value(obj, field_path(entry)) for obj in versions))
    return "kept" if kept[entry] else ""


@rule(300)
def find(subject: RiskSubject) -> Iterator[Risk]:
    """Yield the fields whose value the server changed, or kept as it was in spite of the manifest."""
    if subject.merged is None or subject.after is None or subject.merged is subject.after:
        return
    if subject.is_merge_only or (subject.after == subject.live and not subject.is_unchanged):  # nothing was answered
        return
    kept: dict[PlainPath, bool] = {}
    for path, asked, given in _changed(subject.merged, subject.after, ()):
        if _is_set(subject, path, asked, given):
            how = ADDED if begins_with(given, asked) else _name_answer(subject, path, kept)
            facts = {"field": ".".join(str(step) for step in path), "how": how}
            yield ADMISSION_CHANGED.at(field_path(path), facts, position_of(subject, path))
