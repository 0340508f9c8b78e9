"""Mask the values of Secrets and other credentials: everything that is shown passes through here.

Masked is everything of a Secret besides `metadata`, `type` and `immutable`, whatever a field is called, also where a
Secret is embedded (lists, the last-applied annotation, JSON or YAML text); credentials in plain fields, and fields that
a policy names. The kind that the server resolved decides what is a Secret; claims inside the object can only add
Secrets. In doubt, the value is masked. Every mask has the same length and a tag keyed to the plan and the path of the
value, so that it reveals only whether one field of one object changed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any, cast

from msgspec import Struct, field

from applyviz.engine.diff import plain_names
from applyviz.engine.diff.commands import find_arguments
from applyviz.engine.diff.credential_fields import Tree, find_credentials, find_entries, grow, takes_argument
from applyviz.engine.diff.credential_names import gives_credential
from applyviz.engine.diff.credentials import (
    compile_globs,
    holds_ciphertext,
    holds_value,
    is_ciphertext,
    is_reference,
    is_registry_login,
    is_template,
    names_of_keys,
    redact,
)
from applyviz.engine.diff.embedded import (
    OBJECT_META,
    claims_secret,
    decode_secret,
    hides_field,
    holds_secret,
    looks_secret,
    mentions_secret,
    names_secret,
    parse_embedded,
)
from applyviz.engine.diff.encoded import decode_all, find_parts
from applyviz.engine.diff.entry_names import mask_names, write_object
from applyviz.engine.diff.marks import is_masked
from applyviz.engine.diff.mask_policy import DEFAULT_POLICY, Beside, MaskPolicy
from applyviz.engine.diff.patch_parts import is_directive, list_written
from applyviz.engine.diff.plain_values import PlainValues
from applyviz.engine.diff.repeating import Repeats, find_secrets
from applyviz.engine.diff.tags import MaskTags, encode, name_items
from applyviz.engine.objects.known_names import LAST_APPLIED
from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.objects.structs import replace
from applyviz.engine.objects.values import JSONObject, JSONValue, MutableObject, canonical_json, get_at

__all__ = ["DEFAULT_POLICY", "Beside", "MaskPolicy", "Masker", "find_secrets", "is_masked", "make_masker", "mask"]

_NOTES = (("metadata", "annotations"), ("metadata", "labels"))
_OWNERS = ("metadata", "managedFields")
_EMBEDDED = "embedded"  # the step of a path into the object that a text holds
Path = tuple[str, ...]


def mask(
    obj: JSONObject,
    *,
    gvk: GroupVersionKind | None,
    tag_key: bytes,
    scope: str = "",
    policy: MaskPolicy = DEFAULT_POLICY,
    beside: Iterable[Beside] | None = None,
    is_live: bool = False,
    plain: PlainValues | None = None,
) -> MutableObject:
    """Return the object with every secret value masked.

    - `gvk` is the kind that the server resolved; None if it is unknown (then `data` is masked).
    - `scope` identifies the object: equal values in two scopes get different tags.
    - `plain`: what is known of the values of this change, which grows by those of this object.
    - `beside`: the versions that a mixed object (a result, the body of a request) was made from. An annotation or label
      is shown as in the first version that contains it; one of no version is masked whole if it may repeat a secret.
    - `is_live`: the object comes from the cluster. The author of an annotation there may guess the values of the Secret
      beside it, so one of no version `beside` is masked whole in every Secret, whatever the values are; so is a label.
    """
    is_secret = gvk is None or names_secret(gvk.kind)
    masker = make_masker(obj, gvk, tag_key, scope, policy, beside, plain, is_live=is_live)
    return masker.mask_object(obj, (), is_secret=is_secret)


def make_masker(
    body: JSONValue,
    gvk: GroupVersionKind | None,
    tag_key: bytes,
    scope: str,
    policy: MaskPolicy,
    beside: Iterable[Beside] | None,
    plain: PlainValues | None,
    *,
    is_live: bool = False,
) -> Masker:
    """Return what masks an object, or the body of a patch; for its parameters see `mask`."""
    is_schema = gvk is not None and gvk.kind == "CustomResourceDefinition"  # it names fields but contains no values
    policy = replace(policy, has_plain=False) if is_schema else policy
    plain = PlainValues(policy.names, policy.paths, policy.passwords) if plain is None else plain
    plain.add(body)
    known: frozenset[str] = frozenset()
    for part in [body] if isinstance(body, Mapping) else list_written(body):
        known |= find_secrets(part, gvk=gvk, plain=plain) | policy.passwords.list_values(part, gvk)
    if beside is None and not is_live:
        return Masker(
            MaskTags(tag_key, scope), policy, Repeats(known), gvk=gvk, plain=plain, is_resolved=gvk is not None
        )
    others = tuple(beside or ())
    if is_live:
        is_guarded = bool(known) or gvk is None or names_secret(gvk.kind)
    else:
        is_guarded = bool(known) or any(other.holds_masked for other in others)
    return Masker(MaskTags(tag_key, scope), policy, Repeats(()), others, is_guarded, gvk, plain, gvk is not None)


class Masker(Struct, frozen=True):
    """Masks one object; `repeats` are its own secrets, `beside` the versions that a mixed object was made from.

    - `is_resolved`: the kind is known; without it, only what is called like a field of a Secret is one.
    """

    tags: MaskTags
    policy: MaskPolicy
    repeats: Repeats
    beside: tuple[Beside, ...] = ()
    is_guarded: bool = False
    gvk: GroupVersionKind | None = None
    plain: PlainValues = field(default_factory=PlainValues)
    is_resolved: bool = True

    def mask_value(self, value: JSONValue, path: Path, *, is_encoded: bool = False) -> Any:
        """Return the mask of one value; equal content gets one tag in `data` and `stringData`. Null is not masked."""
        if value is None:
            return None
        if isinstance(value, str):
            return self.tags.make(decode_secret(value) if is_encoded else encode(value), path)
        return self.tags.make(b"\x00" + encode(canonical_json(value)), path)

    def mask_object(self, obj: JSONObject, path: Path, *, is_secret: bool) -> MutableObject:
        """Return an object, or a part of one, masked; every item of a list of Secrets is a Secret."""
        is_named = claims_secret(obj)
        is_secret, is_resolved = is_secret or is_named, self.is_resolved or is_named
        masked: MutableObject = {}
        for key, value in obj.items():
            if is_secret and hides_field(key, value, is_resolved=is_resolved):
                masked[key] = self._mask_holder(obj, key, path)
            elif key == "items" and isinstance(value, list):
                masked[key] = [
                    self._mask_item(item, (*path, key, str(n)), is_secret=is_secret) for n, item in enumerate(value)
                ]
            elif key == "metadata" and isinstance(value, Mapping):
                masked[key] = self._mask_metadata(value, (*path, key), is_secret=is_secret, is_resolved=is_resolved)
            else:
                masked[key] = self._walk(value, (*path, key))
        # An object in a text may leave out what it is: last-applied is of the kind of its object.
        gvk = self.gvk if not path or path[-1] == _EMBEDDED else None
        shown = dict(self.policy.passwords.hide(obj, masked, gvk, path, self.mask_value))
        owners = get_at(obj, _OWNERS)
        if isinstance(owners, list) and isinstance(shown["metadata"], Mapping):
            listed = [self._mask_owner(obj, owner, path, is_secret=is_secret) for owner in owners]
            shown["metadata"] = {**shown["metadata"], "managedFields": listed}
        return shown

    def _mask_owner(self, obj: JSONObject, owner: JSONValue, path: Path, *, is_secret: bool) -> JSONValue:
        """Return an entry of managedFields with every name masked that repeats a masked value."""
        below = (*path, *_OWNERS)
        names = owner.get("fieldsV1") if isinstance(owner, Mapping) else None
        if not isinstance(owner, Mapping) or not isinstance(names, Mapping):
            walked: JSONValue = self._walk(owner, below)
            return walked
        claimed = {name: obj[name] for name in ("apiVersion", "kind") if name in obj}
        rest = self._walk({name: value for name, value in owner.items() if name != "fieldsV1"}, below)
        is_alone = not (path or is_secret or self.is_guarded or self.repeats)
        key = plain_names.make_key(names, self.gvk, self.policy, claimed) if is_alone else None
        if plain_names.are_plain(key):
            return {**rest, "fieldsV1": names}
        written = write_object(names)
        fields = {**(written if isinstance(written, Mapping) else {}), **claimed}
        shown = replace(self, beside=()).mask_object(fields, path, is_secret=is_secret)
        masked = mask_names(names, shown, lambda one: self.tags.make(encode(one[-1]), (*path, *one)))
        if masked == names:
            plain_names.remember(key)
        return {**rest, "fieldsV1": masked}

    def _mask_item(self, item: JSONValue, path: Path, *, is_secret: bool) -> Any:
        if isinstance(item, Mapping):
            return self.mask_object(item, path, is_secret=is_secret)
        return self.mask_value(item, path) if is_secret else self._walk(item, path)

    def _mask_holder(self, obj: JSONObject, holder: str, path: Path) -> Any:
        """Mask the values of a Secret; `data` that `stringData` overrides must not allow a second guess."""
        value, is_encoded = obj[holder], holder == "data"
        if not isinstance(value, Mapping):
            return value if is_directive(holder, value) else self.mask_value(value, (*path, holder))
        texts = obj.get("stringData") if is_encoded else None
        overridden: JSONObject = texts if isinstance(texts, Mapping) else {}
        masked = {}
        for key, content in value.items():
            stored = "data" if holder == "stringData" else holder
            below = (*path, stored, key, *(("overridden",) if key in overridden else ()))
            is_shown = is_directive(key, content)
            masked[key] = content if is_shown else self.mask_value(content, below, is_encoded=is_encoded)
        return masked

    def _mask_metadata(self, metadata: JSONObject, path: Path, *, is_secret: bool, is_resolved: bool) -> MutableObject:
        masked: MutableObject = {}
        for key, value in metadata.items():
            below = (*path, key)
            if is_secret and is_resolved and key not in OBJECT_META:
                masked[key] = self.mask_value(value, below)
            elif key in ("annotations", "labels") and isinstance(value, Mapping):
                named = "" if key == "annotations" else f"{metadata.get('name', '')} {metadata.get('namespace', '')}"
                notes = {k: v for k, v in value.items() if not isinstance(v, str) or v not in named}
                shown = {k: self._mask_note(v, (*below, k), is_secret) for k, v in notes.items()}
                cut = self.repeats.find_cut(notes, shown)
                masked[key] = {**value, **shown, **{k: self.mask_value(value[k], (*below, k)) for k in cut}}
            else:
                masked[key] = self._walk(value, below)
        return masked

    def _mask_note(self, value: JSONValue, path: Path, is_secret: bool) -> Any:
        """Mask the object inside an annotation or a label; mask the whole text if it cannot be read."""
        if not isinstance(value, str):
            return self._walk(value, path)
        for version in self.beside if path[:2] in _NOTES else ():
            if get_at(version.raw, path) == value:
                shown: JSONValue = get_at(version.shown, path)
                return shown
        embedded = None if self.is_guarded and path[-1] != LAST_APPLIED else self.plain.parse(value)
        if embedded is not None:
            return self._mask_held(embedded, path, value, is_secret)
        if self.repeats.are_encoded_in(value):
            return self.mask_value(value, path)
        is_unreadable = bool(value) and (path[-1] == LAST_APPLIED or (is_secret and "{" in value))
        if is_unreadable or self._looks_secret(value) or self.is_guarded or self.repeats.are_in(value):
            return self.mask_value(value, path)
        return self._walk(value, path)

    def _mask_held(self, embedded: JSONObject | list[JSONValue], path: Path, text: str, is_secret: bool) -> str:
        """Mask an annotation that holds an object; the request and both results hold the same one."""
        # If nothing else in the object decides how it is masked, the result depends on the key alone.
        is_alone = not (is_secret or self.is_guarded or self.repeats or self.policy.paths)
        key = (text, bool(self.beside))
        if is_alone and self.plain.is_kept(key):
            return text
        masked = self._mask_embedded(embedded, path, text, is_secret=is_secret)
        if self.repeats.are_in(masked) or self.repeats.are_encoded_in(masked):
            return str(self.mask_value(text, path))
        masked = masked if masked != text else self._mask_encoded(text, path)
        if is_alone and masked == text:
            self.plain.keep(key)
        return masked

    def _mask_encoded(self, text: str, path: Path) -> str:
        """Mask the parts of a text that hold, encoded, an object with masked values; the rest is read as it is."""
        pieces: list[str] = []
        at = 0
        for start, end in find_parts(text):
            if any(self._tells_secret(inner, path) for inner in decode_all(text[start:end]).texts):
                below = path if end - start == len(text) else (*path, str(start))
                pieces += (self._redact(text[at:start], path), self.mask_value(text[start:end], below))
                at = end
        return "".join((*pieces, self._redact(text[at:], path)))

    def _tells_secret(self, text: str, path: Path) -> bool:
        embedded = parse_embedded(text)
        if embedded is not None and self._mask_embedded(embedded, path, text, is_secret=False) != text:
            return True
        return self._looks_secret(text) or (self.policy.has_plain and redact(text, lambda found, name: "") != text)

    def _looks_secret(self, text: str) -> bool:
        return looks_secret(text) or self.policy.passwords.are_in(text)

    def _mask_embedded(self, embedded: JSONObject | list[JSONValue], path: Path, text: str, *, is_secret: bool) -> str:
        """Mask an object inside text; it has its own author, so only its own values count as secrets."""
        inside = replace(self, beside=(), is_guarded=False, is_resolved=False)
        if self.beside:
            gvk = GroupVersionKind("", "v1", "Secret" if is_secret else "")
            own = find_secrets({"items": [embedded]}, gvk=gvk, plain=self.plain)
            if isinstance(embedded, Mapping):
                own |= self.policy.passwords.list_values(embedded, self.gvk)
            inside = replace(inside, repeats=Repeats(own))
        below = (*path, _EMBEDDED)
        parts: JSONValue
        if isinstance(embedded, list):
            parts = [inside._mask_item(i, (*below, str(n)), is_secret=is_secret) for n, i in enumerate(embedded)]
        else:
            parts = inside.mask_object(embedded, below, is_secret=is_secret)
        if parts == embedded:
            return text
        return json.dumps(parts, sort_keys=True, separators=(",", ":"), ensure_ascii=False)

    def _walk(self, value: JSONValue, path: Path) -> Any:
        """Mask any other value: embedded Secrets, Secrets as text, credentials, and what the policy names."""
        if value in self.plain:
            return value
        if value is None or isinstance(value, bool):
            return self.mask_value(value, path) if value is not None and self._is_named(path) else value
        if self._is_named(path):
            return self.mask_value(value, path)
        if isinstance(value, str):
            return self._mask_text(value, path)
        if isinstance(value, Mapping):
            return self._walk_map(value, path)
        if isinstance(value, list):
            return self._walk_list(value, path)
        return self.mask_value(value, path) if self._gives_credential(path[-1], value) else value

    def _walk_map(self, value: JSONObject, path: Path) -> JSONValue:
        has_owners = isinstance(get_at(value, _OWNERS), list)
        if holds_secret(value) or has_owners or self.policy.passwords.claims_any(value):
            return self.mask_object(value, path, is_secret=holds_secret(value))
        masked = {k: self._walk(v, (*path, k)) for k, v in value.items()}
        has_plain = self.policy.has_plain
        is_whole = has_plain and is_template(path)
        found = (
            find_entries(value) if is_whole else find_credentials(value, self._gives_credential, has_plain=has_plain)
        )
        return self._mask_tree(value, masked, tree, path) if (tree := grow(found)) else masked

    def _mask_tree(self, value: JSONValue, masked: JSONValue, tree: Tree, path: Path) -> JSONValue:
        """Mask the leaves of a tree in a value that is masked otherwise; what is masked whole has no parts."""
        if not tree:
            return cast(JSONValue, self.mask_value(value, path))
        if isinstance(value, list) and isinstance(masked, list):
            return [
                self._mask_tree(value[n], one, tree[step], (*path, step)) if (step := str(n)) in tree else one
                for n, one in enumerate(masked)
            ]
        if isinstance(value, Mapping) and isinstance(masked, Mapping):
            return {
                name: self._mask_tree(value[name], one, tree[name], (*path, name)) if name in tree else one
                for name, one in masked.items()
            }
        return masked

    def _walk_list(self, items: list[JSONValue], path: Path) -> list[JSONValue]:
        masked = [self._walk(item, below) for item, below in zip(items, name_items(items, path), strict=True)]
        for n, (flag, item) in enumerate(pairwise(items), start=1):
            if takes_argument(flag, item) and self._gives_credential(str(flag), item):
                masked[n] = item if is_reference(str(item)) else self.mask_value(item, (*path, str(flag)))
        for n in find_arguments(items) if self.policy.has_plain else ():
            masked[n] = self.mask_value(items[n], (*path, str(n)))
        return masked

    def _mask_text(self, text: str, path: Path) -> Any:
        if self.gvk is not None and holds_ciphertext(self.gvk.group, self.gvk.kind, path):
            return text if is_ciphertext(text) else self.mask_value(text, path)
        if self._gives_credential(path[-1], text) and holds_value(text):
            return self.mask_value(text, path)
        if self.plain.is_plain_text(text):
            return text
        if len(text) >= 16 and (mentions_secret(text) or self.policy.passwords.names_any(text)):
            embedded = parse_embedded(text)
            masked = self._mask_embedded(embedded, path, text, is_secret=False) if embedded is not None else text
            if masked != text:
                return masked
            if embedded is None and self._looks_secret(text):
                return self.mask_value(text, path)
        return self._mask_encoded(text, path)

    def _redact(self, text: str, path: Path) -> Any:
        if not self.policy.has_plain:
            return text
        if is_registry_login(text):
            return self.mask_value(text, path)
        if self.plain.holds_no_credential(text):
            return text
        seen: dict[str, int] = {}  # hot: most texts hold no credential, and a Counter costs more than the search

        def make(found: str, name: str) -> str:
            seen[name] = seen.get(name, 0) + 1
            return self.tags.make(encode(found), (*path, "text", name, str(seen[name])))

        return redact(text, make, self._shown)

    def _is_named(self, path: Path) -> bool:
        """Return whether the policy names a field: of this object, or of one that a text of it holds."""
        if not self.policy.paths:
            return False
        ends = (path[n + 1 :] for n, step in enumerate(path) if step == _EMBEDDED)
        return any(compile_globs(self.policy.paths).fullmatch(".".join(one)) is not None for one in (path, *ends))

    @property
    def _shown(self) -> frozenset[str]:
        return names_of_keys(self.gvk.group) if self.gvk is not None else frozenset()

    def _gives_credential(self, name: str, value: JSONValue) -> bool:
        """Return whether a name gives a credential, by the built-in lists or a glob of the policy."""
        if self.policy.has_plain and name not in self._shown and gives_credential(name, value):
            return True
        return bool(self.policy.names) and compile_globs(self.policy.names).fullmatch(name[:1000]) is not None
