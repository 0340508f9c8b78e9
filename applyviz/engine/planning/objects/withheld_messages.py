"""Withhold the messages of a server beside a masked value: show code, reason and fields, never the text.

Rule: a server's message may repeat values of the manifest and of live. Removing the known values would answer guesses
about values that its reader may not see, so a message is shown whole or not at all: whole if no version of the object
contains a masked value. Fields are named by the keys of the manifest, not in the server's words.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from typing import Any

from applyviz.engine.diff.embedded import names_secret
from applyviz.engine.diff.masking import is_masked
from applyviz.engine.manifests.documents import PlainPath
from applyviz.engine.merge.last_applied import NO_DOCUMENT
from applyviz.engine.objects.errors import Conflict
from applyviz.engine.objects.exchange import Answer
from applyviz.engine.objects.structs import replace
from applyviz.engine.objects.values import JSONObject, JSONValue
from applyviz.engine.planning.conflicts.server_errors import ServerError, find_path, read_server_errors
from applyviz.engine.planning.model.plan import PlannedObject
from applyviz.engine.planning.simulation.dry_run_result import OWN_WORDS

WITHHELD = "its message is not shown, because this object holds masked values"
WARNING = "the server sent a warning; " + WITHHELD
_PROBLEM = "the server has a problem with this field"


def holds_masked(shown: PlannedObject, plain: Container[object] = ()) -> bool:
    """Return whether any version or request of a masked change contains a masked value, or is a Secret.

    - `plain`: containers in which nothing is masked.
    """
    versions = shown.versions
    found = (versions.last_applied, versions.manifest, versions.live, versions.merged, versions.after)
    bodies = (request.body for request in shown.requests)
    return names_secret(shown.ref.gvk.kind) or any(is_masked(one, plain) for one in (*found, *bodies))


def _keep_known(path: PlainPath, obj: Any) -> PlainPath:
    """Return as much of a path as an object has: the rest repeats the server's text."""
    known: list[str | int] = []
    for step in path:
        if isinstance(step, int):
            if not isinstance(obj, list) or step >= len(obj):
                break
        elif not isinstance(obj, Mapping) or step not in obj:
            break
        known.append(step)
        obj = obj[step]
    return tuple(known)


def name_fields(server_errors: Iterable[ServerError], manifest: JSONObject | None) -> tuple[str, ...]:
    """Return the fields of the manifest that a server error names, as the manifest spells them."""
    paths = (_keep_known(find_path(server_error, manifest), manifest) for server_error in server_errors)
    rendered = ("".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path) for path in paths)
    return tuple(dict.fromkeys(filter(None, rendered)))


def describe_withheld(status: int, reason: str, fields: Iterable[str] = ()) -> str:
    """Return one sentence for a server's answer whose text is withheld."""
    named = " ".join(filter(None, (str(status or ""), reason if reason.isalpha() else "")))
    where = ", ".join(fields)
    return f"the server refused it{f' ({named})' if named else ''}{f' at {where}' if where else ''}; {WITHHELD}"


def describe_answer(answer: Answer, manifest: JSONObject | None) -> str:
    """Return one sentence for an answer whose text is withheld: its code, its reason and the fields it is about."""
    return describe_withheld(answer.status, answer.reason, name_fields(read_server_errors("", answer), manifest))


def withhold_reason(text: str) -> str:
    """Return our part of a reason that may continue with a server's message."""
    head, colon, _ = text.partition(": ")
    if not colon:
        return text
    return f"{head}; {WITHHELD}" if head in OWN_WORDS else f"the server said why; {WITHHELD}"


def without_messages(status: JSONValue) -> Any:
    """Return a status without its sentences, whose content an extension of the server can choose freely."""
    if isinstance(status, Mapping):
        return {key: without_messages(value) for key, value in status.items() if key != "message"}
    return [without_messages(item) for item in status] if isinstance(status, list) else status


def _withhold_field_message(server_error: ServerError, manifest: JSONObject | None) -> ServerError | None:
    names = name_fields((server_error,), manifest)
    return ServerError(names[0], _PROBLEM, server_error.position) if names else None


def _rebuild_conflict(conflict: Conflict) -> Conflict:
    """Return a conflict that only the server reports, without its message; ours name only paths and managers."""
    return conflict if conflict.path else replace(conflict, message=f'conflict with "{conflict.manager}"')


def withhold(change: PlannedObject, manifest: JSONObject | None) -> PlannedObject:
    """Return a masked change without any message of a server: errors, warnings, reasons and conflicts."""
    found = (_withhold_field_message(one, manifest) for one in change.server_errors)
    server_errors = tuple(dict.fromkeys(one for one in found if one is not None))
    fields = tuple(dict.fromkeys(one.field for one in server_errors))
    error = describe_withheld(change.refusal.status, change.refusal.reason, fields) if change.refusal else ""
    own = change.error if change.error in ("", NO_DOCUMENT) else f"it could not be calculated; {WITHHELD}"
    return replace(
        change,
        error=error or own,
        server_errors=server_errors,
        certainty_reason=withhold_reason(change.certainty_reason),
        warnings=tuple(WARNING for _ in change.warnings[:1]),
        conflicts=tuple(map(_rebuild_conflict, change.conflicts)),
    )
