"""The permissions that a change of RBAC rules and bindings gives and takes, as facts for the sentence.

Rule: https://kubernetes.io/docs/reference/access-authn-authz/rbac/: rules only add; each allows every verb of it on
every resource (or path) of it. So what two lists of rules allow is compared one verb and resource at a time. Rules that
allow more than `_MOST` of these are not compared: the cost stays linear in what a manifest holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from applyviz.engine.objects.values import JSONObject, JSONValue
from applyviz.engine.risks.naming import join_names
from applyviz.engine.risks.walking import list_at, map_at

_MOST = 4000
_NAMED = 3
_VERBS = 10
_EVERY = {"*": "every verb"}
_NO_ROLE = "no role"
Permission = tuple[str, str]
"""A verb, and what it is allowed on."""


def _texts(rule: JSONValue, name: str) -> list[str]:
    return [value for value in list_at(rule, name) if isinstance(value, str)]


def _name_resource(group: str, resource: str) -> str:
    if resource == "*":
        return f"every resource of {group}" if group not in ("", "*") else "every resource"
    return "every subresource of every resource" if resource == "*/*" else resource


def _list_targets(rule: JSONValue) -> Iterator[tuple[str, str]]:
    """Yield what a rule allows its verbs on: the identity, and its name in a sentence."""
    names = _texts(rule, "resourceNames")
    only = f" named {', '.join(sorted(names))}" if names else ""
    for group in _texts(rule, "apiGroups"):
        for resource in _texts(rule, "resources"):
            yield f"{group}/{resource}", _name_resource(group, resource) + only
    yield from ((url, url) for url in _texts(rule, "nonResourceURLs"))


def _count(rules: Iterable[JSONValue]) -> int:
    return sum(
        len(_texts(rule, "verbs"))
        * (len(_texts(rule, "apiGroups")) * len(_texts(rule, "resources")) + len(_texts(rule, "nonResourceURLs")))
        for rule in rules
    )


def _list_permissions(rules: Iterable[JSONValue]) -> dict[tuple[str, str, str], Permission]:
    """Return each permission by its identity: the group of a resource counts, although a sentence leaves it out."""
    found: dict[tuple[str, str, str], Permission] = {}
    for rule in rules:
        verbs, names = _texts(rule, "verbs"), " ".join(sorted(_texts(rule, "resourceNames")))
        for identity, target in _list_targets(rule):
            for verb in verbs:
                found.setdefault((verb, identity, names), (verb, target))
    return found


def _describe(permissions: Iterable[Permission]) -> str:
    """Return permissions as a phrase: verbs that are allowed on the same are named together."""
    by_target: dict[str, list[str]] = {}
    for verb, target in permissions:
        by_target.setdefault(target, []).append(_EVERY.get(verb, verb))
    by_verbs: dict[tuple[str, ...], list[str]] = {}
    for target, verbs in by_target.items():
        by_verbs.setdefault(tuple(dict.fromkeys(verbs)), []).append(target)
    parts = [f"{join_names(verbs, _VERBS)} on {join_names(targets)}" for verbs, targets in by_verbs.items()]
    more = len(parts) - _NAMED
    return "; ".join([*parts[:_NAMED], *([f"and {more} more"] if more > 0 else [])])


def _compare_rules(before: JSONObject, after: JSONObject) -> dict[str, str]:
    old, new = list_at(before, "rules"), list_at(after, "rules")
    if _count(old) + _count(new) > _MOST:
        return {"rules": "many"}
    had, has = _list_permissions(old), _list_permissions(new)
    return {
        "gains": _describe(has[one] for one in has if one not in had),
        "loses": _describe(had[one] for one in had if one not in has),
    }


def _name_subject(subject: JSONValue) -> str:
    if not isinstance(subject, Mapping):
        return ""
    namespace = subject.get("namespace")
    where = f" of namespace {namespace}" if namespace and subject.get("kind") == "ServiceAccount" else ""
    return f"{subject.get('kind')} {subject.get('name')}{where}"


def _name_role(binding: JSONObject) -> str:
    role = map_at(binding, "roleRef")
    return " ".join(str(role[name]) for name in ("kind", "name") if role.get(name))


def _compare_bindings(before: JSONObject, after: JSONObject) -> dict[str, str]:
    former, role = _name_role(before), _name_role(after)
    old, new = ([_name_subject(one) for one in list_at(obj, "subjects")] for obj in (before, after))
    had, has = ({*old}, {*new}) if former == role or not role else (set[str](), set[str]())
    return {
        "role": role or (_NO_ROLE if after else ""),
        "former": former or (_NO_ROLE if before else ""),
        "bound": join_names(one for one in new if one not in had),
        "unbound": join_names(one for one in old if one not in has),
        "moved": "yes" if former and role and former != role else "",
    }


def compare_permissions(kind: str, before: JSONObject | None, after: JSONObject | None) -> dict[str, str]:
    """Return what a Role or a binding gives and takes; facts without a text are left out.

    - `gains`, `loses` of a role; `rules: many` if they are not compared.
    - `role` and `bound`, `former` and `unbound` of a binding: what it gives whom, and what it takes from whom.
    - `aggregates`: the rules are those of other ClusterRoles, which this object does not say.
    """
    compare = _compare_bindings if kind.endswith("Binding") else _compare_rules
    facts = compare(before or {}, after or {})
    if map_at(after, "aggregationRule"):
        facts["aggregates"] = "yes"
    return {name: text for name, text in facts.items() if text}
