"""The requests of an object, exactly as they will be sent, with explanations.

Rule: directives of strategic merge patches (`$patch`, `$setElementOrder`, `$retainKeys`,
`$deleteFromPrimitiveList`), query parameters of the API server. Bodies are masked; a placeholder shows its name.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from urllib.parse import urlencode

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from msgspec import Struct

from applyviz.engine.diff.masking import is_masked
from applyviz.engine.objects.exchange import MERGE_PATCH, STRATEGIC_MERGE_PATCH, Request
from applyviz.engine.objects.paths import render_path
from applyviz.engine.objects.values import JSONValue
from applyviz.engine.planning.model import placeholders
from applyviz.web.components.readable_yaml import render_yaml
from applyviz.web.reviews.pane.diff_lines import DiffRow

Words = str | Promise
PRINTED = 32_000
LINES = 400
WIDTH = 2_000

_PURPOSES: dict[str, Words] = {
    "read": _("reads the live object"),
    "create": _("creates the object"),
    "patch": _("changes only the fields in the body"),
    "apply": _("server-side apply of everything this manager sets"),
    "delete": _("deletes the object"),
    "list": _("reads a list of objects"),
    "migrate": _("changes field ownership only, no values"),
    "record": _("keeps the last-applied annotation in step, changes no values"),
}
_QUERIES: dict[tuple[str, str], Words] = {
    ("force", "true"): _("conflicts are overwritten (force)"),
    ("force", "false"): _("conflicts are rejected"),
    ("fieldValidation", "Strict"): _("unknown fields are rejected"),
    ("fieldValidation", "Warn"): _("unknown fields cause a warning"),
    ("fieldValidation", "Ignore"): _("unknown fields are dropped silently"),
    ("dryRun", "All"): _("dry run: nothing is stored"),
}
_DIRECTIVES: dict[str, Words] = {
    "$patch": _("directive for this map or list entry: delete, replace or merge"),
    "$setElementOrder": _("order of the merged list"),
    "$retainKeys": _("drops all keys of this map that are not listed"),
    "$deleteFromPrimitiveList": _("removes these values from a list of scalars"),
}
_PATCHES: dict[str, Words] = {
    "delete": _("this map or list entry is removed"),
    "replace": _("this map or list is replaced entirely"),
    "merge": _("this map is merged"),
}
_PLACEHOLDERS: dict[str, Words] = {
    "uid": _("uid of the live object, read just before sending"),
    "resourceVersion": _("resourceVersion of the live object, so that the write fails if the object changed"),
    "managedFields": _("field owners of the live object, read just before sending"),
}


class Named(Struct, frozen=True):
    """A name with its value and meaning."""

    name: str
    value: str = ""
    about: Words = ""


class PlaceholderRow(Struct, frozen=True):
    """A part of the body that is set at run time."""

    path: str
    about: Words


class BodyLine(Struct, frozen=True):
    """One line of a body, with its explanation."""

    text: str
    about: Words = ""


class Text(Struct, frozen=True):
    """A text to copy or download: short enough to be printed, or only a file; empty when masked."""

    text: str
    name: str
    url: str = ""

    @property
    def is_long(self) -> bool:
        """Return whether it is offered as a file only."""
        return len(self.text) > PRINTED


class SideBySide(Struct, frozen=True):
    """kubectl's counterpart of a request, and its differences from the plan."""

    is_equal: bool
    says: tuple[Words, ...]
    lines: tuple[DiffRow, ...] = ()


class RequestRow(Struct, frozen=True):
    """One request as a page shows it; `hidden_lines` of its body are only in the file."""

    method: str
    path: str
    about: Words
    query: tuple[Named, ...]
    content_type: str
    placeholders: tuple[PlaceholderRow, ...]
    body: tuple[BodyLine, ...]
    hidden_lines: int
    curl: Text | None
    file: Text | None
    beside: SideBySide | None = None


def _explain_line(line: str, *, is_patch: bool) -> Words:
    """Return the meaning of a line of a body that is not a plain value."""
    key, colon, value = line.strip().removeprefix("- ").partition(":")
    key = key.strip("'\"")
    if not is_patch or not colon:
        return ""
    if key == "$patch":
        return _PATCHES.get(value.strip(), _DIRECTIVES["$patch"])
    if key.startswith("$"):
        return _DIRECTIVES.get(key.split("/", 1)[0], "")
    return _("null in a patch removes the field") if value.strip() == "null" else ""


def describe_purpose(request: Request) -> Words:
    """Return what a request does; "" for the purpose of no write."""
    return _PURPOSES.get(request.purpose, "")


def render_body(request: Request) -> str:
    """Return the body as YAML, with the name of each placeholder in its position."""
    return "" if request.body is None else render_yaml(placeholders.show(request).body)


def print_lines(value: JSONValue, *, is_patch: bool = False) -> tuple[tuple[BodyLine, ...], int]:
    """Return a value as lines of YAML, those of a patch with their meaning, and how many lines are not listed."""
    lines = render_yaml(value).split("\n")
    shown = tuple(BodyLine(line[:WIDTH], _explain_line(line, is_patch=is_patch)) for line in lines[:LINES])
    return shown, len(lines[LINES:])


def write_curl(request: Request) -> str:
    """Return the request for curl, with open placeholders. Empty when a value is masked."""
    if is_masked(request.body):
        return ""
    query = f"?{urlencode(request.query)}" if request.query else ""
    parts = [f"curl --request {request.method}", '--header "Authorization: Bearer $TOKEN"']
    if request.content_type:
        parts.append(f"--header {shlex.quote('Content-Type: ' + request.content_type)}")
    if request.body is not None:
        parts.append(f"--data-raw {shlex.quote(json.dumps(placeholders.show(request).body, ensure_ascii=False))}")
    parts.append(f'"$SERVER"{shlex.quote(request.path + query)}')
    return " \\\n  ".join(parts)


def present_request(
    request: Request,
    number: int = 1,
    *,
    beside: SideBySide | None = None,
    file_url_of: Callable[[str], str] | None = None,
) -> RequestRow:
    """Return one request with its explanations; `file_url_of` returns the addresses of its files."""
    is_patch = request.content_type in (MERGE_PATCH, STRATEGIC_MERGE_PATCH)
    text = render_body(request)
    lines, hidden = print_lines(placeholders.show(request).body, is_patch=is_patch) if text else ((), 0)

    def keep(content: str, name: str) -> Text | None:
        return Text(content, name, file_url_of(name) if file_url_of else "") if content else None

    return RequestRow(
        method=request.method,
        path=request.path,
        about=describe_purpose(request),
        query=tuple(Named(k, v, _QUERIES.get((k, v), "")) for k, v in request.query.items()),
        content_type=request.content_type,
        placeholders=tuple(
            PlaceholderRow(render_path(h.path), _PLACEHOLDERS.get(h.rule, h.rule)) for h in request.placeholders
        ),
        body=lines,
        hidden_lines=hidden,
        curl=keep(write_curl(request), f"request-{number}.sh") if request.is_write else None,
        file=keep(text, f"request-{number}.yaml"),
        beside=beside,
    )
