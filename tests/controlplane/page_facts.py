"""One field of an object as it really was and is, and the claims of sentences about it.

Everything is read from the objects of the real server and their managedFields, without the engine's explanation. A
sentence that no pattern here knows is a failure: every sentence of a page must be judged.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from applyviz.engine.objects.lookups import ABSENT, find_value
from applyviz.engine.objects.paths import FieldPath
from applyviz.engine.objects.structs import replace
from applyviz.engine.objects.values import is_same_json
from applyviz.engine.schema.walk import MISSING
from applyviz.engine.schema.walk import find_value as find_leaf
from tests.controlplane.takeover import JSONObject

Identity = tuple[str, str, str]
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_KEPT_BY_SERVER = (
    *("managedFields", "resourceVersion", "uid", "generation", "creationTimestamp", "selfLink", "ownerReferences"),
    *("deletionTimestamp", "deletionGracePeriodSeconds"),
)
_CONTROLLERS = "kube-controller-manager"


def _is_same_element(written: str, element: str) -> bool:
    if written == element:
        return True
    return written[:2] == element[:2] and written[0] in "kv" and json.loads(written[2:]) == json.loads(element[2:])


def list_owners(obj: JSONObject | None, path: FieldPath) -> set[Identity]:
    """Return the owners of a field in managedFields, independently of the engine."""
    found = set()
    for entry in (obj or {}).get("metadata", {}).get("managedFields", ()):
        node: Any = entry.get("fieldsV1", {})
        for element in path:
            node = next((below for written, below in node.items() if _is_same_element(written, element)), None)
            if node is None:
                break
        if node is not None and (node == {} or "." in node):
            found.add((entry.get("manager", ""), entry["operation"], entry.get("subresource", "")))
    return found


@dataclass(frozen=True)
class Fact:
    """One field: its values before and after on the server, in the manifest, and its owners before and after."""

    path: FieldPath
    before: Any
    after: Any
    wanted: Any
    owners_before: set[Identity]
    owners_after: set[Identity]
    you: str
    names: tuple[str, ...] = ()
    has_last_applied: bool = True

    @property
    def was(self) -> bool:
        """Whether the object had the field."""
        return self.before is not ABSENT

    @property
    def is_there(self) -> bool:
        """Whether the object has the field."""
        return self.after is not ABSENT

    @property
    def is_wanted(self) -> bool:
        """Whether the manifest sets it to a value."""
        return self.wanted is not ABSENT and self.wanted is not None

    @property
    def is_same(self) -> bool:
        """Whether the value stayed."""
        if not self.was or not self.is_there:
            return self.was == self.is_there
        return is_same_json(self.before, self.after)

    @property
    def is_of_controllers(self) -> bool:
        """Whether only controllers wrote it since, or it is part of the status."""
        if self.path[:1] == ("f:status",):
            return True
        owners = self.owners_after or self.owners_before
        return bool(owners) and all(who == _CONTROLLERS or part == "status" for who, _how, part in owners)

    def owns(self, name: str, *, after: bool = True) -> bool:
        """Whether a field manager owns it; it may be named with its subresource or operation: `kubectl (scale)`."""
        who, _bracket, what = name.removesuffix(")").partition(" (")
        owners = self.owners_after if after else self.owners_before
        return any(one[0] == who and what in ("", *one[1:]) for one in owners)


def _encode_texts(wanted: JSONObject | None) -> JSONObject | None:
    """Return a manifest with the `data` that the server makes from its `stringData`."""
    if wanted is None or wanted.get("kind") != "Secret" or not isinstance(wanted.get("stringData"), Mapping):
        return wanted
    texts = {name: b64encode(str(text).encode()).decode() for name, text in wanted["stringData"].items()}
    return {**wanted, "data": {**(wanted.get("data") or {}), **texts}}


def _drop_null_keys(value: Any, names: set[str]) -> Any:
    """Return a manifest as the server reads it: a key of a list entry that is null gets its default."""
    if isinstance(value, list):
        entries = [
            {k: v for k, v in e.items() if v is not None or k not in names} if isinstance(e, dict) else e for e in value
        ]
        return [_drop_null_keys(entry, names) for entry in entries]
    return {k: _drop_null_keys(v, names) for k, v in value.items()} if isinstance(value, dict) else value


def _find_wanted(wanted: JSONObject | None, path: FieldPath, find: Callable[[Any, FieldPath], Any]) -> Any:
    """Return what a manifest has at a path, also in an entry that names a key with null."""
    found = find(wanted, path)
    names = {name for element in path if element[0] == "k" for name in json.loads(element[2:])}
    plain = _drop_null_keys(wanted, names)
    if found is not ABSENT or plain == wanted:
        return found
    is_key = len(path) > 1 and path[-2][0] == "k" and path[-1][2:] in json.loads(path[-2][2:])
    is_null = is_key and find(wanted, path[:-1]) is ABSENT and find(plain, path[:-1]) is not ABSENT
    return None if is_null else find(plain, path)


def read_fact(
    path: FieldPath,
    root: Any,
    *,
    before: JSONObject | None,
    after: JSONObject | None,
    wanted: JSONObject | None,
    you: str,
) -> Fact:
    """Read one field of real objects and of the manifest."""

    def find(obj: JSONObject | None, where: FieldPath) -> Any:
        if obj is None:
            return ABSENT
        value = find_leaf(root, obj, where) if root is not None else find_value(obj, where)
        return ABSENT if value is MISSING else value

    wanted = _encode_texts(wanted)
    annotations = (before or {}).get("metadata", {}).get("annotations", {})
    return Fact(
        path,
        find(before, path),
        find(after, path),
        _find_wanted(wanted, path, find),
        list_owners(before, path),
        list_owners(after, path),
        you,
        has_last_applied=LAST_APPLIED in annotations,
    )


def _is_kept(fact: Fact) -> bool:
    return fact.is_same and fact.is_there and not fact.is_wanted


def _is_gone(fact: Fact) -> bool:
    return not fact.is_there


def _is_yours_alone(fact: Fact) -> bool:
    taken = {fact.you, "kubectl-client-side-apply", "before-first-apply"}
    return _is_gone(fact) and not fact.is_wanted and {who for who, _how, _part in fact.owners_before} <= taken


def _is_reset(fact: Fact) -> bool:
    return fact.was and fact.is_there and not fact.is_wanted and not fact.is_same


def _is_bookkeeping(fact: Fact) -> bool:
    is_note = fact.path[:2] == ("f:metadata", "f:annotations") and fact.path[-1] == f"f:{LAST_APPLIED}"
    return is_note or (len(fact.path) > 1 and fact.path[1][2:] in _KEPT_BY_SERVER)


def _is_in_other_order(fact: Fact) -> bool:
    """Whether the entries that a list had and has come in another order; entries of maps by their first text."""

    def name(one: Any) -> str:
        return str(one.get("name") or one.get("port") or one) if isinstance(one, dict) else str(one)

    was, now = ([name(one) for one in (v if isinstance(v, list) else ())] for v in (fact.before, fact.after))
    return [one for one in was if one in now] != [one for one in now if one in was]


Claim = Callable[[Fact], bool]
CLAIMS: Mapping[str, Claim] = {
    # A null stays where a custom kind preserves what it does not know.
    r"set in your manifest": lambda f: f.is_there and (f.is_wanted or f.wanted is f.after is None),
    # The server stores a null among texts as an empty one, and writes null where a list is required.
    r"your manifest changes it": lambda f: (
        f.was and f.is_there and not f.is_same and (f.is_wanted or (f.wanted is None and f.after in (None, "")))
    ),
    r"your manifest matches the live object": lambda f: f.wanted is not ABSENT and f.is_same,
    r"your manifest matches the live object; ownership moves from (.+) to you": lambda f: (
        f.is_same and f.owns(f.you) and all(f.owns(n, after=False) for n in f.names)
    ),
    r"Removed: no longer in the manifest": lambda f: _is_gone(f) and not f.is_wanted,
    r"Removed: no longer in the manifest and no other owner": _is_yours_alone,
    r"Removed: set to null in the manifest": _is_gone,
    r"Removed: your manifest sets it to false, 0 or an empty value, which the server leaves out": lambda f: (
        _is_gone(f) and f.wanted is not ABSENT and not f.wanted
    ),
    r"Removed with the ownership of client-side apply: a later client-side apply keeps the fields that it drops": (
        _is_gone
    ),
    r"Removed: your manifest clears all field owners": _is_gone,
    r"Lost with the deleted object: your manifest does not set it": lambda f: not f.is_there and not f.is_wanted,
    r"Lost with the deleted object: a Kubernetes controller sets it again": lambda f: (
        not f.is_wanted and (not f.is_there or not f.is_same)
    ),
    r"Replaced by what your manifest sets there": lambda f: f.is_wanted,
    r"Removed: `.+` keeps only what your manifest sets": _is_gone,
    r"Removed although your manifest contains it: another entry with the same `.+` goes": _is_gone,
    r"Removed although your manifest contains it: another entry with the same `.+` drops it": _is_gone,
    r"set by another entry of your manifest with the same `.+`": lambda f: (
        f.is_there and not (f.is_wanted and is_same_json(f.after, f.wanted))
    ),
    r"Moved: `.+` gets this node port": _is_gone,
    r"the server moves this node port here from `.+`": lambda f: f.is_there and not f.is_wanted,
    r"a patch directive, not a field: the object does not get it": lambda f: not f.is_there,
    r"not set: kubectl does not send it because of `.+`": lambda f: (
        f.is_same and f.is_wanted and not is_same_json(f.after, f.wanted)
    ),
    r"matches another entry of your manifest with the same `.+`": lambda f: _is_kept(f),
    r"not set: the merge treats entries with the same `.+` as one": lambda f: f.is_same,
    r"Removed: you dropped `.+` and everything in it": lambda f: _is_gone(f) and not f.is_wanted,
    r"Removed: you dropped `.+` and no other manager owns it": _is_yours_alone,
    r"Removed: your manifest sets `.+` to null": _is_gone,
    r"Removed by a directive in your manifest": _is_gone,
    r"Atomic field: replaced as a whole": lambda f: not f.is_same,
    r"`.+` is replaced as a whole": lambda f: not f.is_same,
    r"the merge keeps it from the live entry with the same `.+`": lambda f: (
        f.is_there and not f.was and not f.is_wanted
    ),
    r"live only: kept": _is_kept,
    r"live only, kept: (.+) owns? it": lambda f: _is_kept(f) and all(map(f.owns, f.names)),
    r"no longer in the manifest, but kept: (.+) owns? it": lambda f: _is_kept(f) and all(map(f.owns, f.names)),
    r"Not removed: (.+) still owns? it": lambda f: _is_kept(f) and all(map(f.owns, f.names)),
    r"Not removed: the object has no last-applied annotation": lambda f: _is_kept(f) and not f.has_last_applied,
    r"server default": lambda f: f.is_there and not f.is_wanted,
    r"No longer in the manifest: the server sets its default": _is_reset,
    r"No longer in the manifest and no other owner: the server sets its default": _is_reset,
    r"Null in the manifest: the server sets its default": _is_reset,
    r"You dropped `.+` and everything in it: the server sets its default": _is_reset,
    r"You dropped `.+` and no other manager owns it: the server sets its default": _is_reset,
    r"Your manifest sets `.+` to null: the server sets its default": _is_reset,
    r"`.+` keeps only what your manifest sets: the server sets its default": _is_reset,
    r"`.+` is replaced as a whole: the server sets its default": _is_reset,
    r"removed, and set to the server's default again": lambda f: f.is_there and f.is_same,
    r"the server removes it after the merge": _is_gone,
    r"the server changes it after the merge": lambda f: f.is_there and not is_same_json(f.after, f.wanted),
    r"the server adds it after the merge": lambda f: f.is_there and not f.was,
    r"the server keeps the value": lambda f: f.is_same,
    r"left empty: the server chooses the value": lambda f: (
        f.is_there and not f.was and f.wanted in (None, "", 0, [], {}, {"matchLabels": {}})
    ),
    r"overwritten: (.+) loses? the field": lambda f: (
        f.is_there and not f.is_same and all(f.owns(n, after=False) for n in f.names)
    ),
    r"not in your manifest: kept, and (.+) no longer owns? it": lambda f: (
        _is_kept(f) and all(f.owns(n, after=False) for n in f.names)
    ),
    r"you and (.+) own it with the same value": lambda f: f.is_same and f.owns(f.you) and all(map(f.owns, f.names)),
    r"the order of its entries changes": _is_in_other_order,
    r"no live entry has the same `.+`: this entry is new": lambda f: f.is_there and not f.was,
    r"`.+` merges by .+: this entry is new": lambda f: f.is_there and not f.was,
    r"`.+` is a set: this value is new": lambda f: f.is_there and not f.was,
    r"no longer in the manifest; already removed": lambda f: _is_gone(f) and not f.was,
    r"null in the manifest; already absent": lambda f: _is_gone(f) and not f.was,
    r"managed by the server and kubectl": _is_bookkeeping,
}
"""Each sentence beside a field, and what must be true of the field when it is said."""


def _is_emptied(fact: Fact) -> bool:
    """Whether a section lost everything in it and stays as an empty one, which is new as a value."""
    return fact.was and bool(fact.before) and fact.after in ({}, [])


WORDS: Mapping[str, Claim] = {
    "set": lambda f: f.is_there and (not f.was or _is_emptied(f)),
    "filled": lambda f: f.was and not f.before and bool(f.after),
    "changed": lambda f: f.was and f.is_there and not f.is_same,
    "removed": lambda f: f.was and not f.is_there,
    "kept": lambda f: f.was and f.is_same,
    "removal blocked": lambda f: f.was and f.is_same,
    "unchanged": lambda f: f.is_same,
    "defaulted": lambda f: f.is_there and not f.is_wanted,
    "chosen by the server": lambda f: f.is_there and not f.was,
}
"""Each word for what happens to a field; a conflict never runs, so it has none."""


def find_claim(sentence: str) -> tuple[str, Claim, tuple[str, ...]] | None:
    """The pattern and the claim of a sentence, and the field managers that it names; None for an unknown one."""
    for pattern, claim in CLAIMS.items():
        found = re.fullmatch(pattern, sentence)
        if found:
            names = tuple(re.split(r", | and ", found[1])) if found.groups() else ()
            return pattern, claim, names
    return None


def is_claimed(fact: Fact, sentence: str) -> bool:
    """Whether a sentence is known and true of a field."""
    found = find_claim(sentence)
    return found is not None and bool(found[1](replace(fact, names=found[2])))


def is_same_text(one: str, other: str) -> bool:
    """Whether two texts differ in nothing but spaces and marks of code."""
    left, right = ("".join(text.split()).replace("`", "") for text in (one, other))
    return left == right
