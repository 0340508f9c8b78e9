"""The effect of a change of a CustomResourceDefinition on the objects of its kind, as facts for the sentence.

Rule: https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/: schemas are
compared version by version and field by field. A new field that is not required leaves every object valid, unless the
fields beside it were kept without a schema. Whatever else differs is only counted. Cost: linear in both schemas.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from applyviz.engine.objects.values import JSONObject, JSONValue, is_same_json
from applyviz.engine.risks.naming import join_names
from applyviz.engine.risks.walking import list_at, map_at

_TEXTS = frozenset(("description", "title", "example", "externalDocs"))
_BELOW = frozenset(("properties", "required", "items", "additionalProperties", "type"))
_KEEPS_UNKNOWN = "x-kubernetes-preserve-unknown-fields"


@dataclass
class _Changes:
    """The fields that are new, gone, required from now on, of another type, and the other differences."""

    added: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    required: list[str] = field(default_factory=list)
    retyped: list[str] = field(default_factory=list)
    others: list[str] = field(default_factory=list)

    def compare(self, before: JSONObject, after: JSONObject) -> None:
        """Compare two schemas from the top down."""
        waiting: list[tuple[str, JSONValue, JSONValue]] = [("", before, after)]
        while waiting:
            path, old, new = waiting.pop()
            if not isinstance(old, Mapping) or not isinstance(new, Mapping):
                if not is_same_json(old, new):
                    self.others.append(path)
                continue
            waiting.extend(self._compare_node(path, old, new))

    def _compare_node(self, path: str, old: JSONObject, new: JSONObject) -> Iterator[tuple[str, JSONValue, JSONValue]]:
        had, has = map_at(old, "properties"), map_at(new, "properties")
        keeps = old.get(_KEEPS_UNKNOWN) is True
        for name in has:
            where = f"{path}.{name}" if path else name
            if name in had:
                yield where, had[name], has[name]
            else:
                (self.others if keeps else self.added).append(where)
        self.removed += [f"{path}.{name}" if path else name for name in had if name not in has]
        asked = [name for name in list_at(new, "required") if name not in list_at(old, "required")]
        self.required += [f"{path}.{name}" if path else str(name) for name in asked]
        if old.get("type") != new.get("type"):
            self.retyped.append(path)
        for name, mark in (("items", "[]"), ("additionalProperties", "{}")):
            if name in old or name in new:
                yield path + mark, old.get(name), new.get(name)
        rest = (old.keys() | new.keys()) - _TEXTS - _BELOW
        if any(not is_same_json(old.get(name), new.get(name)) for name in rest):
            self.others.append(path)


def _list_versions(definition: JSONObject | None) -> dict[str, JSONObject]:
    versions = (one for one in list_at(definition, "spec", "versions") if isinstance(one, Mapping))
    return {str(one.get("name")): one for one in versions}


def _list_served(versions: Mapping[str, JSONObject]) -> list[str]:
    return [name for name, version in versions.items() if version.get("served") is True]


def _find_stored(versions: Mapping[str, JSONObject]) -> str:
    return next((name for name, version in versions.items() if version.get("storage") is True), "")


def _compare_versions(old: Mapping[str, JSONObject], new: Mapping[str, JSONObject]) -> dict[str, str]:
    served, serves = _list_served(old), _list_served(new)
    stored, stores = _find_stored(old), _find_stored(new)
    return {
        "served": join_names([name for name in serves if name not in served]),
        "unserved": join_names([name for name in served if name not in serves]),
        "stored": stores if stores != stored else "",
    }


def compare_definitions(before: JSONObject | None, after: JSONObject | None) -> dict[str, str]:
    """Return what changes for the objects of a kind; facts without a text are left out.

    - `defined`: the kind. `state`: `new` or `gone`; else `added`, `removed`, `required`, `retyped`: fields by their
      paths; `served`, `unserved`, `stored`: versions; `others`: how many other differences the schemas have.
    """
    defined = map_at(after, "spec", "names").get("kind") or map_at(before, "spec", "names").get("kind")
    facts = {"defined": str(defined)} if defined else {}
    if before is None or after is None:
        return facts | {"state": "new" if before is None else "gone"}
    old, new = _list_versions(before), _list_versions(after)
    changes = _Changes()
    for name in new:
        if name in old:
            changes.compare(*(map_at(versions[name], "schema", "openAPIV3Schema") for versions in (old, new)))
    facts |= _compare_versions(old, new)
    for name in ("added", "removed", "required", "retyped"):
        facts[name] = join_names(getattr(changes, name))
    facts["others"] = str(len(changes.others) or "")
    return {name: text for name, text in facts.items() if text}
