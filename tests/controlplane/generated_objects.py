"""Random definitions and objects, shaped by schemas: deeper and odder than anybody writes.

Small vocabularies make names, keys and values meet often, which is where merges get interesting. Now and then a
value breaks its schema: a null, another form, a duplicate, a field that nobody declared.
"""

from __future__ import annotations

import copy
import random
from typing import Any

from applyviz.engine.schema.model import ListType, Node

WORDS = ("a", "b", "c", "web", "a<b", 'q"t', "é\u2028", "", "10.0.0.1", "1")
INTEGERS = (0, 1, 2, 3, 80, 443, 8080, 1234567, -1, 12345678901, 9007199254740993)
FLOATS = (0, 1, 1.5, 2.0, 1e-7, 0.1, 1e21)
FIELDS = "abcdefgh"
# What names the entries of a list: the type of each key field, and its default where it has one.
KEYS: dict[str, tuple[str, Any]] = {
    "id": ("integer", 1),
    "name": ("string", "a"),
    "port": ("integer", 80),
    "flag": ("boolean", False),
    "ratio": ("number", 0.5),
}
QUANTITIES = ("1", "100m", "1Gi", 1, 0.5)


class Inventor:
    """Makes values of a schema and changes them; the same seed makes the same ones."""

    def __init__(self, rng: random.Random, density: float) -> None:
        self.rng = rng
        self.density = density

    def make(self, node: Node | None, depth: int) -> Any:
        """A value of a schema; None stands for anything."""
        if node is None or self.rng.random() < 0.01:
            return self.make_anything(2)
        if node.definition.endswith(".Quantity"):
            return self.rng.choice(QUANTITIES)
        if node.type == "object":
            return self._make_object(node, depth)
        if node.type == "array":
            return self._make_list(node, depth)
        return self._make_scalar(node)

    def make_anything(self, depth: int) -> Any:
        """A value that no schema describes."""
        turn = self.rng.random()
        if depth <= 0 or turn < 0.5:
            return self.rng.choice(("s", "t", 1, 2, 1.5, True, None))
        names = self.rng.sample("abcd", self.rng.randint(0, 3))
        if turn < 0.75:
            return {name: self.make_anything(depth - 1) for name in names}
        return [self.make_anything(depth - 1) for _ in names]

    def _make_scalar(self, node: Node) -> Any:
        if node.enum and self.rng.random() < 0.8:
            return self.rng.choice(node.enum)
        if node.is_int_or_string:
            return self.rng.choice((80, "http", 8080))
        if node.type == "integer":
            return self.rng.choice(INTEGERS)
        if node.type == "number":
            return self.rng.choice(FLOATS)
        if node.type == "boolean":
            return self.rng.random() < 0.5
        if node.type == "string":
            return {"date-time": "2024-01-01T00:00:00Z", "byte": "YQ=="}.get(node.format) or self.rng.choice(WORDS)
        return self.make_anything(2)

    def _make_object(self, node: Node, depth: int) -> dict[str, Any]:
        made = {}
        for name, child in node.properties.items():
            is_deep = child.type in ("object", "array", "")
            wanted = name in node.required or self.rng.random() < self.density * (1 if depth > 3 else 0.5)
            if wanted and (depth > 0 or not is_deep or name in node.required) and (depth > -3 or not is_deep):
                made[name] = self.make(child, depth - 1)
        if node.additional is not None or node.allows_unknown or not node.properties:
            for name in self.rng.sample(("k1", "k2", "app", "a.b/c", "x"), self.rng.choice((0, 1, 1, 2, 3))):
                made[name] = self.make(node.additional, depth - 1)
        return made

    def _make_list(self, node: Node, depth: int) -> list[Any]:
        items = [self.make(node.items, depth - 1) for _ in range(self.rng.choice((0, 1, 1, 2, 2, 3, 4)))]
        if depth < -2:
            return []
        if node.list_type in (ListType.MAP, ListType.SET) and self.rng.random() < 0.95:
            return self._without_duplicates(node, items)
        return items

    @staticmethod
    def _without_duplicates(node: Node, items: list[Any]) -> list[Any]:
        kept: list[Any] = []
        seen: list[Any] = []
        for item in items:
            name = item
            if node.list_map_keys and isinstance(item, dict):
                name = [
                    item.get(k, getattr(node.items and node.items.child(k), "default", None))
                    for k in node.list_map_keys
                ]
            if item is not None and name not in seen:
                seen.append(name)
                kept.append(item)
        return kept

    def change(self, node: Node | None, value: Any, chance: float) -> Any:
        """The value with some places changed."""
        if self.rng.random() < 0.003:
            return self.rng.choice((None, {}, [], "text", 5, [1, 1], {"a": 1}))
        if isinstance(value, dict):
            return self._change_object(node, value, chance)
        if isinstance(value, list):
            return self._change_list(node, value, chance)
        if node is not None and self.rng.random() < chance / 2:
            return self.make(node, 1)
        is_number = isinstance(value, int) and not isinstance(value, bool)
        # Beyond 2^53 a float is another number, which Go takes for the same one now and then.
        return float(value) if is_number and abs(value) < 2**53 and self.rng.random() < 0.1 else value

    def _change_object(self, node: Node | None, value: dict[str, Any], chance: float) -> dict[str, Any]:
        changed = {
            name: self.change(node.child(name) if node is not None else None, entry, chance)
            for name, entry in value.items()
            if self.rng.random() > chance / 4
        }
        names = [
            n for n in (node.properties if node is not None else ()) if n not in ("apiVersion", "kind", "metadata")
        ]
        if node is not None and names and self.rng.random() < chance:
            name = self.rng.choice(names)
            changed[name] = self.make(node.child(name), 2)
        elif node is not None and node.additional is not None and self.rng.random() < chance:
            changed[self.rng.choice(("k1", "k2", "z"))] = self.make(node.additional, 2)
        if self.rng.random() < 0.002:
            changed["unknownField"] = 1
        return changed

    def _change_list(self, node: Node | None, value: list[Any], chance: float) -> list[Any]:
        items = node.items if node is not None else None
        changed = [self.change(items, item, chance) for item in value if self.rng.random() > chance / 3]
        if self.rng.random() < chance / 3:
            self.rng.shuffle(changed)
        if items is not None and self.rng.random() < chance * 0.6:
            changed.insert(self.rng.randint(0, len(changed)), self.make(items, 2))
        if changed and self.rng.random() < 0.02:
            changed.append(copy.deepcopy(self.rng.choice(changed)))
        return changed

    def pick(self, value: Any, chance: float) -> Any:
        """A part of a value: what one of several writers names of it."""
        if isinstance(value, dict):
            return {k: self.pick(v, chance) for k, v in value.items() if self.rng.random() < chance}
        if isinstance(value, list):
            return [self.pick(v, 1 - (1 - chance) / 3) for v in value if self.rng.random() < chance]
        return value


def make_schema(rng: random.Random, depth: int) -> dict[str, Any]:
    """A random structural schema of a custom resource's field."""
    turn = rng.random()
    if depth <= 0 or turn < 0.25:
        return _make_scalar_schema(rng)
    if turn < 0.7:
        return _make_object_schema(rng, depth)
    if turn < 0.715 and depth > 1:
        embedded = {"x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True}
        return {"type": "object", **embedded}
    if turn < 0.76:
        loose = {"x-kubernetes-preserve-unknown-fields": True}
        return {"type": "object", **loose} if turn < 0.74 else loose
    made: dict[str, Any] = {"type": "array"}
    if turn < 0.82:
        made |= {"items": _make_set_item(rng), "x-kubernetes-list-type": "set"}
    elif turn < 0.92:
        made |= _make_map_list_schema(rng, depth)
    else:
        made["items"] = make_schema(rng, depth - 1)
    if rng.random() < 0.06:
        made["nullable"] = True
    return made


def _make_scalar_schema(rng: random.Random) -> dict[str, Any]:
    """Now and then one that may be null, or has a default."""
    if rng.random() < 0.05:
        return {"x-kubernetes-int-or-string": True}
    kind = rng.choice(("string", "integer", "boolean", "number"))
    made: dict[str, Any] = {"type": kind}
    turn = rng.random()
    if turn < 0.06:
        made["nullable"] = True
    if turn < 0.03 or turn > 0.94:
        made["default"] = {"string": "a", "integer": 1, "boolean": True, "number": 1.5}[kind]
    return made


def _make_set_item(rng: random.Random) -> dict[str, Any]:
    """What a set may hold: scalars, and whole maps or lists."""
    turn = rng.random()
    if turn < 0.8:
        return {"type": rng.choice(("string", "integer", "boolean", "number"))}
    if turn < 0.9:
        properties = {"a": {"type": "string"}, "b": {"type": "integer"}}
        return {"type": "object", "properties": properties, "x-kubernetes-map-type": "atomic"}
    return {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "atomic"}


def change_topology(schema: Any, rng: random.Random) -> Any:
    """The same schema after its author changed list and map types here and there, in either direction."""
    if isinstance(schema, list):
        return [change_topology(each, rng) for each in schema]
    if not isinstance(schema, dict):
        return schema
    changed = {name: change_topology(each, rng) for name, each in schema.items()}
    if changed.get("type") == "object" and ("properties" in changed or "additionalProperties" in changed):
        if rng.random() < 0.2:
            changed["x-kubernetes-map-type"] = rng.choice(("atomic", "granular"))
    elif changed.get("type") == "array" and rng.random() < 0.4:
        for name in ("x-kubernetes-list-type", "x-kubernetes-list-map-keys"):
            changed.pop(name, None)
        items = changed.get("items") or {}
        keys = [n for n in KEYS if n in items.get("required", ()) and n in items["properties"]]
        if keys and rng.random() < 0.6:
            changed |= {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": keys[: rng.randint(1, 2)]}
        elif items.get("type") in ("string", "integer", "boolean", "number") and rng.random() < 0.6:
            changed["x-kubernetes-list-type"] = "set"
        else:
            changed["x-kubernetes-list-type"] = "atomic"
    return changed


def _make_object_schema(rng: random.Random, depth: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object"}
    if rng.random() < 0.75:
        schema["properties"] = {n: make_schema(rng, depth - 1) for n in rng.sample(FIELDS, rng.randint(1, 5))}
        if rng.random() < 0.1:
            schema["x-kubernetes-preserve-unknown-fields"] = True
    else:
        schema["additionalProperties"] = make_schema(rng, depth - 1)
    if rng.random() < 0.15:
        schema["x-kubernetes-map-type"] = rng.choice(("atomic", "granular"))
    if rng.random() < 0.1:
        schema["nullable"] = True
    return schema


def _make_map_list_schema(rng: random.Random, depth: int) -> dict[str, Any]:
    properties = {n: make_schema(rng, depth - 1) for n in rng.sample("efgh", rng.randint(0, 3))}
    required = []
    keys = rng.sample(tuple(KEYS), rng.choice((1, 1, 2, 2, 3)))
    for key in keys:
        kind, default = KEYS[key]
        properties[key] = {"type": kind}
        if rng.random() < 0.3:
            properties[key]["default"] = default
        else:
            required.append(key)
    items = {"type": "object", "properties": properties, **({"required": required} if required else {})}
    return {"items": items, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": keys}


def make_definition(rng: random.Random, number: int) -> dict[str, Any]:
    """A random CustomResourceDefinition with one or two versions."""
    group = f"r{number}.example.com"
    subresources: dict[str, Any] = {"status": {}} if rng.random() < 0.6 else {}
    if rng.random() < 0.3:
        subresources["scale"] = {"specReplicasPath": ".spec.count", "statusReplicasPath": ".status.count"}
    versions: list[dict[str, Any]] = []
    for name in ("v1", "v1beta1", "v2alpha1")[: rng.choice((1, 2, 2, 3))]:
        schema = versions[0]["schema"] if versions and rng.random() < 0.7 else _make_version_schema(rng)
        storage = {"name": name, "served": True, "storage": name == "v1", "schema": schema}
        versions.append({**storage, "subresources": subresources})
    names = {"kind": "Thing", "listKind": "ThingList", "plural": "things", "singular": "thing"}
    spec = {"group": group, "names": names, "scope": "Namespaced", "conversion": {"strategy": "None"}}
    head = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
    return {**head, "metadata": {"name": f"things.{group}"}, "spec": {**spec, "versions": versions}}


def _make_version_schema(rng: random.Random) -> dict[str, Any]:
    """Mostly a spec and a status; now and then nothing is declared at all, or not everything."""
    turn = rng.random()
    if turn < 0.05:
        return {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    fields = {n: make_schema(rng, 4) for n in rng.sample(FIELDS, 5)}
    spec = {"type": "object", "properties": {**fields, "count": {"type": "integer"}}}
    status = {n: make_schema(rng, 2) for n in "xy"} | {"count": {"type": "integer"}}
    properties = {"spec": spec, "status": {"type": "object", "properties": status}}
    if turn < 0.1:
        properties["data"] = make_schema(rng, 3)
    loose = {"x-kubernetes-preserve-unknown-fields": True} if turn > 0.95 else {}
    return {"openAPIV3Schema": {"type": "object", "properties": properties, **loose}}
