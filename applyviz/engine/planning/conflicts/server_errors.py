"""Locate the errors of a server in the manifest: each with its field, and the line of the file.

Rule: the server names fields in four ways: causes of validation (`spec.containers[0].image`), strict validation
(`unknown field "spec.x"`), Go's JSON reader (`Container.spec.containers.image`, without list indices), and server-side
apply (`.spec.containers[name="app"].image: …`). A missing field is located at its parent.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from applyviz.engine.manifests.documents import ManifestDocument, PlainPath
from applyviz.engine.objects.errors import SourcePosition
from applyviz.engine.objects.exchange import Answer
from applyviz.engine.objects.golang import read_digits
from applyviz.engine.objects.structs import replace
from applyviz.engine.objects.values import JSONValue, get_at

_UNREAD = ("unknown field", "duplicate field")
_STRICT = re.compile(r'(?:unknown|duplicate) field "((?:[^"\\]|\\.)*)"')
_UNREADABLE = re.compile(r"cannot unmarshal (\S++).*? into Go struct field (\w*+)\.(\S++) of type \S")
_TYPED = re.compile(r"^(?:.*\): )?\s*(\.\S(?:[^:\[]|\[(?:[^]\"]|\"(?:[^\"\\]|\\.)*\")*\])*): (.+)$")
# Longer texts are neither a path nor a server error, and parsing them would take quadratic time.
_LONGEST = 2_048
_MOST_READ = 65_536
_STEP = re.compile(r'\[((?:[^]"]|"(?:[^"\\]|\\.)*")*)\]|\.?([^.\[]+)')
_UNFIT = "a value of type "
_WORDS = {"bool": (bool,), "number": (int, float), "string": (str,), "array": (list,), "object": (dict,)}


class ServerError(Struct, frozen=True):
    """One error that a server reports: the field in the server's words, and its position in the file."""

    field: str
    message: str
    position: SourcePosition = SourcePosition()

    @property
    def is_strict(self) -> bool:
        """Whether strict validation does not read the field: no rule of the kind was asked."""
        return self.message in _UNREAD


def read_server_errors(message: str, answer: Answer | None = None) -> tuple[ServerError, ...]:
    """Return the errors of a refusal that name a field, in its order, without positions."""
    causes = get_at(answer.body, ("details", "causes")) if answer is not None else None
    found = [
        ServerError(cause["field"], cause.get("message", ""))
        for cause in (causes if isinstance(causes, list) else ())
        if isinstance(cause, dict) and cause.get("field") not in (None, "", "patch", "<nil>")
    ]
    return tuple(dict.fromkeys(found or _read_text(message)))


def _read_text(message: str) -> Iterator[ServerError]:
    message = message[:_MOST_READ]
    for match in _STRICT.finditer(message):
        yield ServerError(match[1], match[0].partition(" field")[0] + " field")
    if unreadable := _UNREADABLE.search(message[:_LONGEST]):
        yield ServerError(unreadable[3], f"{_UNFIT}{unreadable[1]} does not fit")
    for line in message.splitlines():
        if typed := _TYPED.match(line[:_LONGEST]):
            yield ServerError(typed[1], typed[2])


def locate(server_errors: tuple[ServerError, ...], document: ManifestDocument) -> tuple[ServerError, ...]:
    """Return the same errors, each with its line in the manifest."""
    return tuple(replace(c, position=document.positions.nearest(find_path(c, document.obj))) for c in server_errors)


def find_path(server_error: ServerError, obj: Any) -> PlainPath:
    """Return the path in an object that an error names, as far as it exists."""
    if server_error.message.startswith(_UNFIT):
        return _find_unindexed(server_error, obj)
    path: list[str | int] = []
    text, value = server_error.field[:_LONGEST], obj
    while text:
        step, text = _take_step(text, value)
        if step is None:
            break
        path.append(step)
        value = value[step] if _has(value, step) else None
    return tuple(path)


def _has(value: JSONValue, step: str | int) -> bool:
    if isinstance(step, int):
        return isinstance(value, list) and step < len(value)
    return isinstance(value, Mapping) and step in value


def _take_step(text: str, value: JSONValue) -> tuple[str | int | None, str]:
    """Return the next step of a path and the rest of its text; map keys may contain dots, so the longest match wins."""
    text = text.removeprefix(".")
    if isinstance(value, Mapping) and not text.startswith("["):
        names = [name for name in value if text == name or text.startswith((f"{name}.", f"{name}["))]
        if names:
            name = max(names, key=len)
            return name, text[len(name) :]
    match = _STEP.match(text)
    if match is None:
        return None, ""
    rest = text[match.end() :]
    return (match[2] if match[1] is None else _read_brackets(match[1], value)), rest


def _read_brackets(inner: str, value: JSONValue) -> str | int | None:
    """Return an index, a key of a map, or the entry that has these keys or equals this value."""
    if isinstance(value, Mapping):
        return inner
    index = read_digits(inner)
    if index is not None:
        return index
    items = value if isinstance(value, list) else []
    if inner.startswith("="):
        return next((n for n, item in enumerate(items) if json.dumps(item) == inner[1:]), None)
    wanted = dict(re.findall(r'(\w+)=("(?:[^"\\]|\\.)*"|[^,]+)', inner))
    return next((n for n, item in enumerate(items) if _fits(item, wanted)), None)


def _fits(item: JSONValue, wanted: Mapping[str, str]) -> bool:
    """Return whether an entry has these keys; an omitted key may have its default."""
    return isinstance(item, Mapping) and all(k not in item or json.dumps(item[k]) == v for k, v in wanted.items())


def _find_unindexed(server_error: ServerError, obj: JSONValue) -> PlainPath:
    """Return the first path of the named fields with a value of the named type, else the first path."""
    types = _WORDS.get(server_error.message.removeprefix(_UNFIT).split()[0], ())
    matches = list(_walk(obj, server_error.field[:_LONGEST].split("."), ()))
    wrong = (path for path, value in matches if isinstance(value, types) and isinstance(value, bool) == (bool in types))
    return next(wrong, matches[0][0] if matches else ())


def _walk(value: JSONValue, names: list[str], path: PlainPath) -> Iterator[tuple[PlainPath, JSONValue]]:
    """Yield every path that the names lead to, with its value; names of embedded Go structs are not fields."""
    if not names:
        yield path, value
    if isinstance(value, list):
        for number, item in enumerate(value):
            yield from _walk(item, names, (*path, number))
    elif isinstance(value, Mapping) and not names:
        yield from (((*path, name), item) for name, item in value.items())
    elif isinstance(value, Mapping) and names[0] in value:
        yield from _walk(value[names[0]], names[1:], (*path, names[0]))
    elif names and names[0][:1].isupper():
        yield from _walk(value, names[1:], path)
