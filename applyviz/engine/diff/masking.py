"""The one exit of values of Secrets: everything that is shown passes here first.

Masked are `data` and `stringData` of Secrets, the same wherever a Secret is wrapped (lists, the
last-applied annotation, other JSON or YAML text), and what a policy names. What is a Secret is decided by
the kind that the server resolved; a claim inside the object can only add to that. In doubt: masked. A
mask has one length and a tag under the key of a plan, so that "same" and "changed" show and nothing else.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from applyviz.engine.diff.embedded import decode_secret, looks_secret, names_secret, parse_embedded
from applyviz.engine.diff.scrubbing import find_secrets, mask_text
from applyviz.engine.objects.exchange import JSON_PATCH
from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.objects.values import JSONValue, canonical_json

__all__ = ["DEFAULT_POLICY", "MaskPolicy", "find_secrets", "is_masked", "mask", "mask_patch", "mask_text"]

# Neither base64 nor a Kubernetes name can hold these brackets: intake and sender refuse what has them.
_OPEN, _CLOSE = "\u27eamasked", "\u27eb"
_TAG_LENGTH = 12
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_HOLDERS = ("data", "stringData")
_DIRECTIVES = frozenset({"delete", "replace", "merge"})


@dataclass(frozen=True, slots=True)
class MaskPolicy:
    """What else is masked: values of environment variables by name, fields by dotted path; with globs.

    A path counts list entries as fields too: `spec.users.*.password`.
    """

    env_names: tuple[str, ...] = (
        "*PASSWORD*",
        "*PASSWD*",
        "*TOKEN",
        "*SECRET",
        "*SECRET_KEY",
        "*PRIVATE_KEY",
        "*API_KEY",
    )
    paths: tuple[str, ...] = ()


DEFAULT_POLICY = MaskPolicy()


def mask(
    obj: Mapping[str, Any],
    *,
    gvk: GroupVersionKind | None,
    tag_key: bytes,
    scope: str = "",
    policy: MaskPolicy = DEFAULT_POLICY,
) -> dict[str, Any]:
    """The object with every secret value masked.

    - `gvk` is what the server resolved for the request, None when nobody knows (then `data` is masked).
    - `scope` names the object: equal values in two scopes have different tags.
    """
    is_secret = gvk is None or names_secret(gvk.kind)
    known = find_secrets(obj, gvk=gvk)
    return _Masker(tag_key, scope, policy, known).mask_object(obj, is_secret=is_secret)


def mask_patch(
    body: JSONValue,
    content_type: str,
    *,
    gvk: GroupVersionKind | None,
    tag_key: bytes,
    scope: str = "",
    policy: MaskPolicy = DEFAULT_POLICY,
) -> JSONValue:
    """The body of a patch with every secret value masked; nulls and directives stay visible."""
    is_secret = gvk is None or names_secret(gvk.kind)
    known = find_secrets(body, gvk=gvk) if isinstance(body, Mapping) else frozenset()
    masker = _Masker(tag_key, scope, policy, known)
    if content_type == JSON_PATCH and isinstance(body, list):
        return [masker.mask_operation(o, is_secret=is_secret) for o in body]
    if isinstance(body, Mapping):
        return masker.mask_object(body, is_secret=is_secret)
    return None if body is None else masker.mask_value(body, "")


def is_masked(value: JSONValue | bytes) -> bool:
    """Whether a value, or anything inside it, is or holds masked text."""
    if isinstance(value, bytes):
        return _OPEN.encode() in value
    if isinstance(value, str):
        return _OPEN in value or json.dumps(_OPEN)[1:-1] in value
    if isinstance(value, Mapping):
        return any(is_masked(k) or is_masked(v) for k, v in value.items())
    return isinstance(value, list | tuple) and any(map(is_masked, value))


class _Masker:
    def __init__(self, tag_key: bytes, scope: str, policy: MaskPolicy, known: frozenset[str]) -> None:
        self._key = tag_key
        self._scope = scope
        self._policy = policy
        self._known = known

    def mask_value(self, value: JSONValue, name: str, *, is_encoded: bool = False) -> JSONValue:
        """One value; `data` and `stringData` of one content have one tag. Null is no value."""
        if value is None:
            return None
        if isinstance(value, str):
            content = decode_secret(value) if is_encoded else value.encode("utf-8", "surrogatepass")
        else:
            content = b"\x00" + canonical_json(value).encode("utf-8", "surrogatepass")
        message = b"\x00".join((self._scope.encode(), name.encode("utf-8", "surrogatepass"), content))
        tag = hmac.new(self._key, message, hashlib.sha256).hexdigest()[:_TAG_LENGTH]
        return f"{_OPEN} {tag}{_CLOSE}"

    def mask_object(self, obj: Mapping[str, Any], *, is_secret: bool) -> dict[str, Any]:
        """An object or a part of one; a Secret's list makes every item a Secret."""
        is_secret = is_secret or names_secret(obj.get("kind"))
        masked: dict[str, Any] = {}
        for key, value in obj.items():
            if is_secret and key in _HOLDERS:
                masked[key] = self._mask_holder(value, is_encoded=key == "data")
            elif key == "items" and isinstance(value, list):
                masked[key] = [self._mask_item(i, is_secret) for i in value]
            elif key == "metadata" and isinstance(value, Mapping):
                masked[key] = self._mask_metadata(value, is_secret)
            else:
                masked[key] = self._walk(value, (key,))
        return masked

    def _mask_item(self, item: JSONValue, is_secret: bool) -> JSONValue:
        if isinstance(item, Mapping):
            return self.mask_object(item, is_secret=is_secret)
        return self._walk(item, ("items", "0"))

    def _mask_holder(self, value: JSONValue, *, is_encoded: bool) -> JSONValue:
        if not isinstance(value, Mapping):
            return self.mask_value(value, "")
        return {
            k: v if k == "$patch" and v in _DIRECTIVES else self.mask_value(v, k, is_encoded=is_encoded)
            for k, v in value.items()
        }

    def _mask_metadata(self, metadata: Mapping[str, Any], is_secret: bool) -> dict[str, Any]:
        masked: dict[str, Any] = {}
        for key, value in metadata.items():
            if key == "annotations" and isinstance(value, Mapping):
                masked[key] = {k: self._mask_annotation(k, v, is_secret) for k, v in value.items()}
            else:
                masked[key] = self._walk(value, ("metadata", key))
        return masked

    def _mask_annotation(self, name: str, value: JSONValue, is_secret: bool) -> JSONValue:
        """Text that holds an object is masked inside; what cannot be read is masked whole."""
        if not isinstance(value, str):
            return self._walk(value, ("metadata", "annotations", name))
        embedded = parse_embedded(value)
        if embedded is not None:
            return self._mask_known(self._mask_embedded(embedded, is_secret, value), name)
        is_unreadable = bool(value) and (name == _LAST_APPLIED or (is_secret and "{" in value))
        if is_unreadable or looks_secret(value):
            return self.mask_value(value, name)
        return self._mask_known(self._walk(value, ("metadata", "annotations", name)), name)

    def _mask_known(self, text: JSONValue, name: str) -> JSONValue:
        """Text that repeats a value of the object itself is masked whole."""
        is_repeating = isinstance(text, str) and bool(self._known) and mask_text(text, self._known) != text
        return self.mask_value(text, name) if is_repeating else text

    def _mask_embedded(self, embedded: Mapping[str, Any] | list[Any], is_secret: bool, text: str) -> str:
        if isinstance(embedded, list):
            parts: Any = [self._mask_item(i, is_secret) for i in embedded]
        else:
            parts = self.mask_object(embedded, is_secret=is_secret)
        if parts == embedded:
            return text
        return json.dumps(parts, sort_keys=True, separators=(",", ":"), ensure_ascii=False)

    def _walk(self, value: JSONValue, path: tuple[str, ...]) -> JSONValue:
        """Anything else: wrapped Secrets, Secrets as text, and what the policy names."""
        if value is None or isinstance(value, bool | int | float):
            return self.mask_value(value, ".".join(path)) if value is not None and self._is_named(path) else value
        if self._is_named(path):
            return self.mask_value(value, ".".join(path))
        if isinstance(value, str):
            return self._mask_text(value, path)
        if isinstance(value, Mapping):
            return self._walk_map(value, path)
        return [self._walk(v, (*path, str(i))) for i, v in enumerate(value)]

    def _walk_map(self, value: Mapping[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
        if names_secret(value.get("kind")) and any(h in value for h in _HOLDERS):
            return self.mask_object(value, is_secret=True)
        masked = {k: self._walk(v, (*path, k)) for k, v in value.items()}
        name = value.get("name")
        if isinstance(name, str) and "value" in value and self._is_sensitive(name):
            masked["value"] = self.mask_value(value["value"], name)
        return masked

    def _mask_text(self, text: str, path: tuple[str, ...]) -> JSONValue:
        if len(text) < 16 or ("ecret" not in text and "SECRET" not in text):
            return text
        embedded = parse_embedded(text)
        if embedded is not None:
            return self._mask_embedded(embedded, False, text)
        return self.mask_value(text, ".".join(path)) if looks_secret(text) else text

    def _is_named(self, path: tuple[str, ...]) -> bool:
        if not self._policy.paths:
            return False
        dotted = ".".join(path)
        return any(fnmatchcase(dotted, pattern) for pattern in self._policy.paths)

    def _is_sensitive(self, name: str) -> bool:
        upper = name.upper()
        return any(fnmatchcase(upper, pattern.upper()) for pattern in self._policy.env_names)

    def mask_operation(self, operation: JSONValue, *, is_secret: bool) -> JSONValue:
        """One operation of a JSON patch: its value is masked as what stands at its path."""
        if not isinstance(operation, Mapping):
            return self.mask_value(operation, "")
        if "value" not in operation:
            return dict(operation)
        path = operation.get("path")
        if not isinstance(path, str):
            return {**operation, "value": self.mask_value(operation["value"], "")}
        keys = [k.replace("~1", "/").replace("~0", "~") for k in path.split("/")[1:]]
        whole: JSONValue = operation["value"]
        for key in reversed(keys):
            whole = {key: whole}
        if not isinstance(whole, Mapping):
            return {**operation, "value": self.mask_value(whole, "")}
        masked: JSONValue = self.mask_object(whole, is_secret=is_secret)
        for key in keys:
            if not isinstance(masked, Mapping):
                break
            masked = masked[key]
        return {**operation, "value": masked}
