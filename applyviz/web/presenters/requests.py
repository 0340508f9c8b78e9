"""The requests of an object, exactly as they will be sent, with what is special about them explained.

Rule: directives of strategic merge patches (`$patch`, `$setElementOrder`, `$retainKeys`,
`$deleteFromPrimitiveList`), query parameters of the API server. Bodies come masked; a hole shows its name.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from applyviz.engine.diff.masking import is_masked
from applyviz.engine.objects.exchange import APPLY_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH, Request
from applyviz.engine.objects.paths import render_path
from applyviz.engine.objects.values import JSONValue
from applyviz.engine.planning import holes
from applyviz.engine.planning.plan import ObjectChange
from applyviz.engine.requests.options import ApplyMode, ApplyOptions
from applyviz.web.presenters.values import render_yaml

Text = str | Promise

_PURPOSES: dict[str, Text] = {
    "read": _("reads the live object"),
    "create": _("creates the object"),
    "patch": _("changes what the body names and leaves the rest"),
    "apply": _("sends the whole intent of this field manager; the server merges it"),
    "delete": _("deletes the object"),
    "list": _("reads a list of objects"),
    "migrate": _("rewrites who owns which field, and no values"),
}
_QUERIES: dict[tuple[str, str], Text] = {
    ("force", "true"): _("conflicts are taken over"),
    ("force", "false"): _("a conflict is refused"),
    ("fieldValidation", "Strict"): _("unknown fields are refused"),
    ("fieldValidation", "Warn"): _("unknown fields give a warning"),
    ("fieldValidation", "Ignore"): _("unknown fields are dropped silently"),
    ("dryRun", "All"): _("nothing is stored"),
}
_DIRECTIVES: dict[str, Text] = {
    "$patch": _("says what happens to this map or list entry: delete, replace or merge"),
    "$setElementOrder": _("gives the order of a merged list"),
    "$retainKeys": _("drops every key of this map that it does not name"),
    "$deleteFromPrimitiveList": _("removes these values from a list of plain values"),
}
_PATCHES: dict[str, Text] = {
    "delete": _("this map or list entry is removed"),
    "replace": _("this map or list is replaced whole, not merged"),
    "merge": _("this map is merged"),
}
_HOLES: dict[str, Text] = {
    "uid": _("the uid of the live object just read"),
    "resourceVersion": _("the version of the live object just read, so that nothing slips in between"),
    "managedFields": _("the field owners of the live object just read"),
}


@dataclass(frozen=True, slots=True)
class Named:
    """A name with its value and what it means."""

    name: str
    value: str = ""
    about: Text = ""


@dataclass(frozen=True, slots=True)
class HoleRow:
    """A place in the body that is filled when it is sent."""

    path: str
    about: Text


@dataclass(frozen=True, slots=True)
class BodyLine:
    """One line of a body, with what is special about it."""

    text: str
    about: Text = ""


@dataclass(frozen=True, slots=True)
class RequestRow:
    """One request as a page shows it."""

    method: str
    path: str
    about: Text
    query: tuple[Named, ...]
    content_type: str
    holes: tuple[HoleRow, ...]
    body: tuple[BodyLine, ...]
    curl: str


@dataclass(frozen=True, slots=True)
class KubectlRow:
    """What kubectl would do with the same object, and each way in which that differs from the plan.

    - `text` is empty when it holds masked values: nobody could run it.
    """

    text: str
    differences: tuple[Text, ...]


def _holds_mask(value: JSONValue) -> bool:
    if isinstance(value, Mapping):
        return any(_holds_mask(item) for item in value.values())
    if isinstance(value, list):
        return any(_holds_mask(item) for item in value)
    return isinstance(value, str) and is_masked(value)


def _explain_line(line: str, *, is_patch: bool) -> Text:
    """What a line of a body means that is no plain value."""
    key, colon, value = line.strip().removeprefix("- ").partition(":")
    key = key.strip("'\"")
    if not is_patch or not colon:
        return ""
    if key == "$patch":
        return _PATCHES.get(value.strip(), _DIRECTIVES["$patch"])
    if key.startswith("$"):
        return _DIRECTIVES.get(key.split("/", 1)[0], "")
    return _("null in a patch: the field is removed") if value.strip() == "null" else ""


def _present_body(request: Request) -> tuple[BodyLine, ...]:
    if request.body is None:
        return ()
    is_patch = request.content_type in (MERGE_PATCH, STRATEGIC_MERGE_PATCH)
    lines = render_yaml(holes.show(request).body).split("\n")
    return tuple(BodyLine(line, _explain_line(line, is_patch=is_patch)) for line in lines)


def _write_curl(request: Request) -> str:
    """The request for curl; a hole stays open in it. Empty when a value is masked."""
    if _holds_mask(request.body):
        return ""
    query = f"?{urlencode(request.query)}" if request.query else ""
    parts = [f"curl --request {request.method}", '--header "Authorization: Bearer $TOKEN"']
    if request.content_type:
        parts.append(f"--header {shlex.quote('Content-Type: ' + request.content_type)}")
    if request.body is not None:
        parts.append(f"--data-raw {shlex.quote(json.dumps(holes.show(request).body, ensure_ascii=False))}")
    parts.append(f'"$SERVER"{shlex.quote(request.path + query)}')
    return " \\\n  ".join(parts)


def present_request(request: Request) -> RequestRow:
    """One request with everything explained that a reader may not know."""
    return RequestRow(
        method=request.method,
        path=request.path,
        about=_PURPOSES.get(request.purpose, ""),
        query=tuple(Named(k, v, _QUERIES.get((k, v), "")) for k, v in request.query.items()),
        content_type=request.content_type,
        holes=tuple(HoleRow(render_path(h.path), _HOLES.get(h.rule, h.rule)) for h in request.holes),
        body=_present_body(request),
        curl=_write_curl(request) if request.is_write else "",
    )


def _differ(change: ObjectChange, *, is_edited: bool) -> Iterator[Text]:
    """How the plan differs from what kubectl sends; the field manager is told to it in its command."""
    for request in change.requests:
        bound = " · ".join(hole.rule for hole in request.holes)
        if bound:
            text = gettext("%(method)s is bound to the object that was read (%(fields)s); kubectl does not bind it.")
            yield text % {"method": request.method, "fields": bound}
    if is_edited:
        yield _("Decisions edited this body. kubectl sends the file as it stands: make the edit in the file first.")
    if any(request.method == "DELETE" for request in change.requests):
        yield _("This plan deletes the object, with what is needed for it. kubectl does that only when told to.")


def present_kubectl(change: ObjectChange, options: ApplyOptions, *, is_edited: bool = False) -> KubectlRow | None:
    """The same object by kubectl; None when the plan writes nothing that a manifest asks for."""
    manifest = change.versions.manifest
    if not change.requests or manifest is None:
        return None
    parts = ["kubectl apply"]
    if options.mode is ApplyMode.SERVER:
        parts.append("--server-side")
    parts.append(f"--field-manager={shlex.quote(options.field_manager)}")
    applied = [r for r in change.requests if r.content_type == APPLY_PATCH]
    if any(r.query.get("force") == "true" for r in applied):
        parts.append("--force-conflicts")
    if change.ref.namespace:
        parts.append(f"--namespace={shlex.quote(change.ref.namespace)}")
    command = " ".join((*parts, "--filename=-"))
    text = "" if _holds_mask(manifest) else f"{command} <<'MANIFEST'\n{render_yaml(manifest)}\nMANIFEST"
    return KubectlRow(text, tuple(_differ(change, is_edited=is_edited)))
