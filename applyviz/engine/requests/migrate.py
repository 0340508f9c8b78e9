"""Migrate an object from client-side to server-side apply, as kubectl does after its first apply patch.

Rule:
https://kubernetes.io/docs/reference/using-api/server-side-apply/#upgrading-from-client-side-apply-to-server-side-apply.
The default manager first moves last-applied to a separate manager; then the fields of the client-side entries move to
the apply entry, pinned to the version read. Every failure here is a warning, never an error.
"""

from __future__ import annotations

from collections.abc import Iterator

from applyviz.engine.objects.errors import OwnershipError
from applyviz.engine.objects.known_names import LAST_APPLIED, LAST_APPLIED_PATH
from applyviz.engine.objects.values import JSONObject, JSONValue, get_at
from applyviz.engine.ownership import migrate
from applyviz.engine.requests.calls import RequestTarget
from applyviz.engine.requests.flow import AnswerError, Flow, is_conflict, refusal, send
from applyviz.engine.requests.options import SERVER_SIDE_MANAGER

LAST_APPLIED_MANAGER = "kubectl-last-applied"
_MAX_ATTEMPTS = 5
_AGAIN = "This is non-fatal and will be retried next time you apply. Error: "


def _annotation_owners(obj: JSONObject, operation: str) -> Iterator[str]:
    for entry in get_at(obj, ("metadata", "managedFields")) or ():
        owned = get_at(entry.get("fieldsV1"), LAST_APPLIED_PATH)
        if entry.get("operation") == operation and owned is not None:
            yield entry.get("manager") or ""


def needs_own_annotation(obj: JSONObject, manager: str) -> bool:
    """Return whether last-applied must move to a separate manager, or the next apply would drop it."""
    annotations = get_at(obj, ("metadata", "annotations")) or {}
    if manager != SERVER_SIDE_MANAGER or LAST_APPLIED not in annotations:
        return False
    return not any(_annotation_owners(obj, "Apply"))


def render_annotation(target: RequestTarget, text: str) -> JSONObject:
    """Return the intent of the manager that keeps last-applied: only the annotation."""
    kept = {LAST_APPLIED: text}
    metadata: dict[str, JSONValue] = {"name": target.name, "annotations": kept}
    if target.namespace:
        metadata["namespace"] = target.namespace
    gvk = target.resource.gvk
    return {"apiVersion": gvk.api_version, "kind": gvk.kind, "metadata": metadata}


def _move_fields(target: RequestTarget, obj: JSONObject) -> Flow[JSONObject | None]:
    """Move client-side entries into the apply entry; None if there is nothing to move.

    - The managers are determined once; after a conflict the object is read again.
    """
    managers = tuple(dict.fromkeys(_annotation_owners(obj, "Update")))
    for _ in range(_MAX_ATTEMPTS if managers else 0):
        entries = list(get_at(obj, ("metadata", "managedFields")) or ())
        upgraded = migrate.upgrade(obj, manager=target.options.field_manager, csa_managers=managers)
        if upgraded == entries:
            return None
        version = get_at(obj, ("metadata", "resourceVersion"), "")
        request = target.replace_managers(upgraded, version)
        answer = yield request
        if answer.is_ok:
            return dict(answer.body)
        if not is_conflict(answer):
            raise refusal(request, answer)
        obj = dict((yield from send(target.read())).body)
    return None


def migrate_if_needed(
    target: RequestTarget, manifest: JSONObject, applied: JSONObject
) -> Flow[tuple[JSONObject, tuple[str, ...]]]:
    """Migrate an object that was just applied; return the object as last known, and the warnings."""
    obj = applied
    try:
        if needs_own_annotation(obj, target.options.field_manager):
            body = render_annotation(target, obj["metadata"]["annotations"][LAST_APPLIED])
            obj = dict((yield from send(target.apply_as(LAST_APPLIED_MANAGER, body, obj))).body)
    except AnswerError as error:
        return obj, (f"failed to migrate {LAST_APPLIED} for Server-Side Apply. {_AGAIN}{error}",)
    try:
        moved = yield from _move_fields(target, obj)
    except (AnswerError, OwnershipError) as error:
        return obj, (f"server rejected managed fields migration to Server-Side Apply. {_AGAIN}{error}",)
    if moved is None:
        return obj, ()
    try:
        return dict((yield from send(target.apply(manifest, moved))).body), ()
    except AnswerError as error:
        text = "failed to re-apply configuration after performing Server-Side Apply migration."
        return moved, (f"{text} {_AGAIN}{error}",)
