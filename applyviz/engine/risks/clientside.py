"""Client-side apply without a record: no last-applied annotation, or one that is too long to be stored.

Rule: https://kubernetes.io/docs/tasks/manage-kubernetes-objects/declarative-config/ (removals come from the annotation
alone) and the limit of 262,144 bytes that the API server sets on all annotations of an object.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from applyviz.engine.objects.known_names import LAST_APPLIED
from applyviz.engine.objects.paths import field, fields
from applyviz.engine.risks.advice import Advice
from applyviz.engine.risks.model import Risk, RiskKind, RiskLevel, RiskSubject
from applyviz.engine.risks.rules import rule
from applyviz.engine.risks.walking import texts_of

ANNOTATION_LIMIT = 262_144


NO_LAST_APPLIED = RiskKind(
    "no-last-applied",
    "No last-applied annotation: removals are ignored",
    "The live object has no last-applied annotation, so fields that the manifest no longer sets are kept.",
)
ANNOTATION_TOO_LONG = RiskKind(
    "annotation-too-long",
    "Annotations too long",
    lambda f: (
        "The annotations take {size} bytes, but the server accepts at most {limit}. The longest is {annotation}.",
        *((Advice.APPLY_SERVER_SIDE.value,) if f["mode"] == "client-side" else ()),
    ),
    level=RiskLevel.HIGH,
)


@rule(100)
def find_missing(subject: RiskSubject) -> Iterator[Risk]:
    """Yield the risk of a live object that client-side apply did not create: this apply cannot remove fields.

    - Where ownership moves back from server-side apply, the fields that its entry owns are what was last applied.
    """
    if subject.is_server_side or subject.live is None or subject.manifest is None or subject.last_applied is not None:
        return
    if not texts_of(subject.live, "annotations").get(LAST_APPLIED):
        yield NO_LAST_APPLIED.at(fields("metadata", "annotations"))


@rule(110)
def find_too_long(subject: RiskSubject) -> Iterator[Risk]:
    """Yield the risk of annotations whose total size exceeds the limit of the server."""
    annotations = texts_of(subject.result, "annotations")
    size = sum(len(k.encode()) + len(v.encode("utf-8", "replace")) for k, v in annotations.items())
    is_last_applied = False
    if not subject.is_server_side and LAST_APPLIED not in annotations and subject.manifest is not None:
        size += len(LAST_APPLIED) + len(json.dumps(subject.manifest, separators=(",", ":")))
        is_last_applied = True
    if size <= ANNOTATION_LIMIT:
        return
    longest = max(annotations, key=lambda name: len(annotations[name]), default="")
    name = LAST_APPLIED if is_last_applied else longest
    path = (*fields("metadata", "annotations"), field(name))
    is_kubectls = name == LAST_APPLIED and not subject.is_server_side
    facts = {"size": f"{size:,}", "limit": f"{ANNOTATION_LIMIT:,}", "annotation": name}
    facts["mode"] = "client-side" if is_kubectls else ""
    yield ANNOTATION_TOO_LONG.at(path, facts)
