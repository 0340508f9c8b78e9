"""What is told of a server's words beside a masked value: code, reason and fields, and never the text itself.

Rule: a server's text may repeat what the manifest holds and what is live. Taking known values out of it answers
guesses about values that its reader may not see, so it is shown whole or not at all: whole where no version of the
object holds a masked value. Fields are named by the keys of the manifest, not by what the server wrote.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from applyviz.engine.diff.masking import is_masked
from applyviz.engine.manifests.documents import PlainPath
from applyviz.engine.objects.errors import Conflict
from applyviz.engine.objects.exchange import Answer
from applyviz.engine.objects.values import JSONObject, JSONValue
from applyviz.engine.planning.conflicts.server_errors import ServerError, find_path, read_server_errors
from applyviz.engine.planning.model.plan import PlannedObject
from applyviz.engine.planning.simulation.dry_run_result import OWN_WORDS

WITHHELD = "its message is not shown, because this object holds masked values"
WARNING = "the server sent a warning; " + WITHHELD
_PROBLEM = "the server has a problem with this field"


def holds_masked(shown: PlannedObject) -> bool:
    """Return whether any version or request of a masked change holds a masked value, or is a Secret's."""
    versions = shown.versions
    found = (versions.last_applied, versions.manifest, versions.live, versions.merged, versions.after)
    bodies = (request.body for request in shown.requests)
    return shown.ref.gvk.kind == "Secret" or any(map(is_masked, (*found, *bodies)))


def _keep_known(path: PlainPath, obj: JSONValue) -> PlainPath:
    """As much of a path as an object has: the rest is in the words of the server."""
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
    """Return the fields of the manifest that a server complains of, as the manifest spells them."""
    paths = (_keep_known(find_path(server_error, manifest), manifest) for server_error in server_errors)
    told = ("".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path) for path in paths)
    return tuple(dict.fromkeys(filter(None, told)))


def describe_withheld(status: int, reason: str, fields: Iterable[str] = ()) -> str:
    """Return one sentence for a server's answer whose text is withheld."""
    named = " ".join(filter(None, (str(status or ""), reason if reason.isalpha() else "")))
    where = ", ".join(fields)
    return f"the server refused it{f' ({named})' if named else ''}{f' at {where}' if where else ''}; {WITHHELD}"


def describe_answer(answer: Answer, manifest: JSONObject | None) -> str:
    """Return one sentence for an answer whose text is withheld: its code, its reason and the fields it is about."""
    return describe_withheld(answer.status, answer.reason, name_fields(read_server_errors("", answer), manifest))


def withhold_reason(text: str) -> str:
    """Our own part of a reason that may go on with a server's words."""
    head, colon, _ = text.partition(": ")
    if not colon:
        return text
    return f"{head}; {WITHHELD}" if head in OWN_WORDS else f"the server said why; {WITHHELD}"


def without_messages(status: JSONValue) -> JSONValue:
    """Return a status without the sentences in it, which whoever wrote it is free to put anything into."""
    if isinstance(status, Mapping):
        return {key: without_messages(value) for key, value in status.items() if key != "message"}
    return [without_messages(item) for item in status] if isinstance(status, list) else status


def _withhold_complaint(server_error: ServerError, manifest: JSONObject | None) -> ServerError | None:
    names = name_fields((server_error,), manifest)
    return ServerError(names[0], _PROBLEM, server_error.position) if names else None


def _rebuild_conflict(conflict: Conflict) -> Conflict:
    """Return a conflict that only the server knows, without its words; ours name paths and managers alone."""
    return conflict if conflict.path else replace(conflict, message=f'conflict with "{conflict.manager}"')


def withhold(change: PlannedObject, manifest: JSONObject | None) -> PlannedObject:
    """Return a masked change without a word of a server: errors, warnings, reasons and conflicts."""
    found = (_withhold_complaint(one, manifest) for one in change.server_errors)
    server_errors = tuple(dict.fromkeys(one for one in found if one is not None))
    fields = tuple(dict.fromkeys(one.field for one in server_errors))
    error = describe_withheld(change.refusal.status, change.refusal.reason, fields) if change.refusal else ""
    return replace(
        change,
        error=(error or (change.error and f"it could not be calculated; {WITHHELD}")),
        server_errors=server_errors,
        certainty_reason=withhold_reason(change.certainty_reason),
        warnings=tuple(WARNING for _ in change.warnings[:1]),
        conflicts=tuple(map(_rebuild_conflict, change.conflicts)),
    )
