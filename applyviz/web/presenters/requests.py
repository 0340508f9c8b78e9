"""The requests of an object, exactly as they will be sent, with what is special about them explained.

Rule: directives of strategic merge patches (`$patch`, `$setElementOrder`, `$retainKeys`,
`$deleteFromPrimitiveList`), query parameters of the API server. Bodies come masked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from applyviz.engine.objects.exchange import Request
from applyviz.engine.objects.paths import render_path
from applyviz.engine.objects.values import JSONValue
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
class RequestRow:
    """One request as a page shows it."""

    method: str
    path: str
    about: Text
    query: tuple[Named, ...]
    content_type: str
    holes: tuple[HoleRow, ...]
    directives: tuple[Named, ...]
    body: str


def _find_directives(value: JSONValue) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, child in value.items():
            if key.startswith("$"):
                yield key.split("/", 1)[0]
            yield from _find_directives(child)
    elif isinstance(value, list):
        for child in value:
            yield from _find_directives(child)


def present_request(request: Request) -> RequestRow:
    """One request with everything explained that a reader may not know."""
    found = dict.fromkeys(_find_directives(request.body))
    return RequestRow(
        method=request.method,
        path=request.path,
        about=_PURPOSES.get(request.purpose, ""),
        query=tuple(Named(k, v, _QUERIES.get((k, v), "")) for k, v in request.query.items()),
        content_type=request.content_type,
        holes=tuple(HoleRow(render_path(h.path), _HOLES.get(h.rule, h.rule)) for h in request.holes),
        directives=tuple(Named(d, about=_DIRECTIVES[d]) for d in found if d in _DIRECTIVES),
        body=render_yaml(request.body) if request.body is not None else "",
    )
