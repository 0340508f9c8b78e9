"""Requests with something wrong, as bytes: objects and patches in which one place or two is broken.

A place gets another type, a number or text of a wrong form, a null, a field that nobody knows, a key or an entry a
second time, or is taken away; patches get odd operations and directives; texts are cut, content types and kinds
exchanged. Every request is a dry run, so that one server can be asked thousands.
"""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

import yaml

from applyviz.engine.objects.exchange import APPLY_PATCH, JSON, JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH

Obj = dict[str, Any]
OTHERS: tuple[Any, ...] = (
    "text", "", "5", "5mm", "1x", "2020-13-01", "2020-01-01T00:00:00", "true", "not base64!", "YQ", 5, 0, -1, 1.5, 2.0,
    1e30, 3000000000, 99999999999999999999, 8589934592, True, False, None, {}, {"a": 1}, {"name": "a"}, [], ["a", "a"],
    [1], [None], [{"name": "a"}], [{"name": "a"}, {"name": "a"}], [[]],
)  # fmt: skip
_UNKNOWN = ("unknown", "Name", "nmae", "spec", "metaData", "x y", 'a"b', "ключ")
_TYPES = ("text/plain", "application/xml", "application/json; charset=utf-8", "application/yaml", "garbage", "", "*/*")
_VALIDATIONS = ("Strict",) * 5 + ("Warn",) * 3 + ("Ignore", "")
_DIRECTIVES = ("$patch", "$patch", "$retainKeys", "$setElementOrder", "$setElementOrderx", "$deleteFromPrimitiveList")
_TEXTS = (
    *(
        b"",
        b"null",
        b"[]",
        b"5",
        b'"text"',
        b"true",
        b"{}",
        b"a: [",
        b"a: b\n\tc: d",
        b"{a: b",
        b"\xef\xbb\xbf{}",
        b"NaN",
    ),
    *(
        b"a: b: c",
        b"- a\nb: c",
        b"%x",
        b"a: &b *b",
        b"? [a]\n: b",
        b"a: !!int b",
        b"<<: x",
        b"'a",
        b'"\\q"',
        b"@a",
        b"a\n-b: c",
    ),
)
_OPERATIONS = ("add", "remove", "replace", "move", "copy", "test")


class Doubled(dict[str, Any]):
    """A map whose JSON text holds some keys twice."""

    def __init__(self, value: Obj, again: list[tuple[str, Any]]) -> None:
        super().__init__(value)
        self.again = again


@dataclass(frozen=True)
class Place:
    """Where requests about one object go."""

    collection: str
    obj: Obj
    is_custom: bool

    @property
    def path(self) -> str:
        return f"{self.collection}/{self.obj['metadata']['name']}"


@dataclass(frozen=True)
class Wire:
    """One request as it goes over the wire."""

    method: str
    path: str
    query: str
    content_type: str
    body: bytes
    about: str = ""
    headers: dict[str, str] = field(default_factory=dict)

    def describe(self) -> str:
        return f"{self.method} {self.path}?{self.query} [{self.content_type}] {self.body.decode('utf-8', 'replace')}"


def render(value: Any) -> str:
    """JSON text; keys of `Doubled` maps stand there as often as they should."""
    if isinstance(value, dict):
        pairs = [*value.items(), *(value.again if isinstance(value, Doubled) else ())]
        return "{" + ",".join(f"{json.dumps(k, ensure_ascii=False)}:{render(v)}" for k, v in pairs) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(render, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def list_places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """All maps and lists with their paths."""
    if isinstance(value, (dict, list)):
        yield path, value
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from list_places(item, (*path, key))


class Breaker:
    """Makes broken requests from a seed."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)

    def other(self) -> Any:
        return copy.deepcopy(self.rng.choice(OTHERS))

    def break_value(self, value: Any) -> Any:
        """A copy in which one place is broken, or two."""
        broken = copy.deepcopy(value)
        for _ in range(self.rng.choice((1, 1, 1, 2))):
            self._break_once(broken)
        return broken

    def _break_once(self, broken: Any) -> None:
        places = [p for p in list_places(broken) if not self._is_kept(p[0])] or list(list_places(broken))
        path, container = self.rng.choice(places)
        if isinstance(container, list):
            self._break_list(container)
        else:
            self._break_map(broken, path, container)

    def _is_kept(self, path: tuple[Any, ...]) -> bool:
        """The root and the metadata have less to break than the rest, and are chosen less often."""
        return len(path) < 1 and self.rng.random() < 0.5

    def _break_map(self, root: Any, path: tuple[Any, ...], container: Obj) -> None:
        kept = {(): ("apiVersion", "kind"), ("metadata",): ("name", "namespace")}.get(path, ())
        names = [n for n in container if n not in kept]
        turn = self.rng.random()
        if turn < 0.2 or not names:
            container[self.rng.choice(_UNKNOWN)] = self.other()
        elif turn < 0.35:
            name = self.rng.choice(names)
            doubled = Doubled(container, [(name, self.rng.choice((container[name], self.other())))])
            self._put(root, path, doubled)
        elif turn < 0.45:
            del container[self.rng.choice(names)]
        elif turn < 0.5:
            container[self.rng.choice(names)] = None
        else:
            container[self.rng.choice(names)] = self.other()

    @staticmethod
    def _put(root: Any, path: tuple[Any, ...], value: Any) -> None:
        if not path:
            return
        place = root
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = value

    def _break_list(self, items: list[Any]) -> None:
        turn = self.rng.random()
        if items and turn < 0.4:
            items.append(copy.deepcopy(self.rng.choice(items)))
        elif items and turn < 0.6:
            items[self.rng.randrange(len(items))] = self.other()
        elif items and turn < 0.7:
            items[self.rng.randrange(len(items))] = None
        else:
            items.append(self.other())

    def part_of(self, value: Any) -> Any:
        """What a patch names of an object: one way down, and what stands around its end."""
        if isinstance(value, dict) and value:
            if self.rng.random() < 0.25:
                return copy.deepcopy(value)
            name = self.rng.choice(list(value))
            kept = {k: value[k] for k in ("name", "containerPort", "port", "type") if k in value and k != name}
            return {**copy.deepcopy(kept), name: self.part_of(value[name])}
        if isinstance(value, list) and value:
            return [self.part_of(item) for item in self.rng.sample(value, self.rng.randint(1, min(2, len(value))))]
        return copy.deepcopy(value)

    def make(self, places: list[Place]) -> Wire:
        """A random request."""
        place = self.rng.choice(places)
        makers = (
            *(self.make_create, self.make_create, self.make_update, self.make_merge, self.make_json_patch),
            *(self.make_strategic, self.make_strategic, self.make_apply, self.make_apply, self.make_apply),
        )
        wire = self.rng.choice(makers)(place)
        return self.garble(wire) if self.rng.random() < 0.08 else wire

    def query(self, **more: str) -> str:
        given = {"dryRun": "All", "fieldManager": "tester", "fieldValidation": self.rng.choice(_VALIDATIONS), **more}
        if self.rng.random() < 0.01:
            given[self.rng.choice(("dryRun", "fieldValidation", "fieldManager", "force"))] = self.rng.choice(
                ("Some", "x" * 130, "a\tb", "true")
            )
        return urlencode({k: v for k, v in given.items() if v})

    def _broken_object(self, place: Place) -> Obj:
        obj = self.break_value(place.obj) if self.rng.random() < 0.95 else copy.deepcopy(place.obj)
        if self.rng.random() < 0.05:
            name = self.rng.choice(("apiVersion", "kind"))
            other = self.rng.choice(("v1", "apps/v1", "Pod", "ConfigMap", "a/b/c", "apps", 5, None, "", {}, "Widget"))
            obj[name] = other
        if self.rng.random() < 0.03:
            obj["metadata"] = self.other()
        if self.rng.random() < 0.04 and isinstance(obj.get("metadata"), dict):
            entry = {"manager": "m", "operation": "Update", "fieldsType": "FieldsV1", "fieldsV1": self.other()}
            obj["metadata"]["managedFields"] = self.rng.choice(([entry], [{**entry, "time": "x"}], [], [{}], "x"))
        return obj

    def make_create(self, place: Place) -> Wire:
        obj = self._broken_object(place)
        if isinstance(obj.get("metadata"), dict):
            obj["metadata"]["name"] = "fy"
        return self._object("POST", place.collection, obj)

    def make_update(self, place: Place) -> Wire:
        return self._object("PUT", place.path, self._broken_object(place))

    def _object(self, method: str, path: str, obj: Obj) -> Wire:
        if self.rng.random() < 0.1:
            return Wire(method, path, self.query(), "application/yaml", self._yaml(obj))
        return Wire(method, path, self.query(), JSON, render(obj).encode())

    def _yaml(self, value: Any) -> bytes:
        if any(isinstance(v, Doubled) for _, v in list_places(value)):
            return render(value).encode()
        return yaml.safe_dump(value, sort_keys=False, allow_unicode=True).encode()

    def make_merge(self, place: Place) -> Wire:
        patch = self.break_value(self.part_of({k: v for k, v in place.obj.items() if k not in ("apiVersion", "kind")}))
        return Wire("PATCH", place.path, self.query(), MERGE_PATCH, render(patch).encode())

    def make_strategic(self, place: Place) -> Wire:
        patch = self.part_of({k: v for k, v in place.obj.items() if k not in ("apiVersion", "kind")})
        if self.rng.random() < 0.7:
            patch = self.break_value(patch)
        if self.rng.random() < 0.4:
            self._direct(patch)
        return Wire("PATCH", place.path, self.query(), STRATEGIC_MERGE_PATCH, render(patch).encode())

    def _direct(self, patch: Any) -> None:
        """Put a directive somewhere."""
        maps = [v for _, v in list_places(patch) if isinstance(v, dict)]
        target = self.rng.choice(maps)
        names = list(target) or ["spec"]
        name = self.rng.choice(names)
        odd = self.rng.choice(("replace", "delete", "merge", "other", 5, None, ["a"], {"a": "b"}))
        lists = self.rng.choice(
            ([], ["a"], [{"name": "a"}], [{"name": "app"}, {"name": "side"}], "x", {"a": 1}, None, [1])
        )
        directive = self.rng.choice((*_DIRECTIVES, f"$setElementOrder/{name}", f"$deleteFromPrimitiveList/{name}"))
        target[directive] = odd if directive == "$patch" else lists

    def make_apply(self, place: Place) -> Wire:
        obj = self._broken_object(place)
        if self.rng.random() < 0.3 and isinstance(obj.get("metadata"), dict):
            obj["metadata"]["name"] = "fy"
            path = f"{place.collection}/fy"
        else:
            path = place.path
        body = self._yaml(obj) if self.rng.random() < 0.3 else render(obj).encode()
        more = {"force": "true"} if self.rng.random() < 0.8 else {}
        return Wire("PATCH", path, self.query(**more), APPLY_PATCH, body)

    def make_json_patch(self, place: Place) -> Wire:
        operations = [self._operation(place.obj) for _ in range(self.rng.choice((1, 1, 2)))]
        body: Any = operations
        if self.rng.random() < 0.1:
            body = self.break_value(operations)
        return Wire("PATCH", place.path, self.query(), JSON_PATCH, render(body).encode())

    def _pointer(self, obj: Obj) -> str:
        path, container = self.rng.choice(list(list_places(obj)))
        keys = list(container) if isinstance(container, dict) else [*range(len(container)), "-", 9, "x", -1]
        steps = [*path, self.rng.choice([*keys, "unknown"])]
        if self.rng.random() < 0.05:
            steps.insert(self.rng.randrange(len(steps) + 1), "missing")
        return "".join(f"/{str(s).replace('~', '~0').replace('/', '~1')}" for s in steps)

    def _operation(self, obj: Obj) -> Any:
        kind = self.rng.choice(_OPERATIONS)
        operation: Obj = {"op": kind, "path": self._pointer(obj)}
        if kind in ("move", "copy"):
            operation["from"] = self._pointer(obj)
        elif kind != "remove":
            operation["value"] = self.other()
        turn = self.rng.random()
        if turn < 0.03:
            operation[self.rng.choice(("unknown", "Op"))] = 1
        elif turn < 0.06:
            operation[self.rng.choice(list(operation))] = self.other()
        elif turn < 0.08:
            return Doubled(operation, [("op", kind)])
        elif turn < 0.1:
            del operation[self.rng.choice(list(operation))]
        return operation

    def garble(self, wire: Wire) -> Wire:
        """The same request as another text or of another content type."""
        turn, body, content_type = self.rng.random(), wire.body, wire.content_type
        if turn < 0.35:
            at = self.rng.randrange(len(body) + 1)
            body = self.rng.choice(
                (body[:at], body[:at] + b"}" + body[at:], body + b" x", body[:at] + b"\x01" + body[at:])
            )
        elif turn < 0.55:
            body = self.rng.choice(_TEXTS)
        else:
            content_type = self.rng.choice(_TYPES)
        return Wire(wire.method, wire.path, wire.query, content_type, body, wire.about)
