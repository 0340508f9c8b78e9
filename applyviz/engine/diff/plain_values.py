"""Find the parts of an object in which nothing can be masked: masking returns them unchanged.

Most of an object is plain, and its versions and similar objects share most texts: each text is judged once. The
judgment is stricter than `masking`: what is plain here is shown unchanged there (a test walks both), what is not is
walked. It depends on the value alone, never on other values of the object.
"""

from __future__ import annotations

import secrets
from functools import lru_cache
from hashlib import blake2b

from applyviz.engine.diff.commands import find_arguments
from applyviz.engine.diff.credential_fields import OF_PAIRS, find_credentials
from applyviz.engine.diff.credential_names import (
    gives_credential,
    may_name_credential,
    names_credential,
    names_list,
)
from applyviz.engine.diff.credentials import (
    compile_globs,
    is_registry_login,
    redact,
)
from applyviz.engine.diff.embedded import KIND_NAMES, claims_secret, looks_secret, mentions_secret, parse_embedded
from applyviz.engine.diff.encoded import decode_all, looks_encoded
from applyviz.engine.diff.marks import is_masked_text
from applyviz.engine.diff.passwords import NO_PASSWORDS, Passwords
from applyviz.engine.objects.values import JSONObject, JSONValue

_TEMPLATES = frozenset({"template", "secretTemplate"})
_OF_TEMPLATES = ("data", "stringData", "binaryData")
_SEALED = "encryptedData"
_SPECIAL = _TEMPLATES | KIND_NAMES | OF_PAIRS | {_SEALED, "managedFields", "args"}
_SCALARS = frozenset({type(None), bool, int, float})
# Of the texts that were judged plain, hashes are kept: a text may be a secret that looks like any other text. Their key
# never leaves this process, and no text can be made to have the hash of another one.
_KEY, _MOST_KNOWN = secrets.token_bytes(32), 16_384
_known: dict[bytes, None] = {}


@lru_cache(maxsize=4096)
def _is_plain_name(name: str) -> bool:
    return not names_credential(name) and not names_list(name) and not is_masked_text(name)


def _is_plain_text(text: str) -> bool:
    """Return whether a text under a plain name is shown unchanged and contains no object."""
    hashed = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16, key=_KEY).digest()
    if hashed in _known:
        return True
    is_plain = _judge_text(text)
    if is_plain:
        if len(_known) >= _MOST_KNOWN:
            _known.clear()
        _known[hashed] = None
    return is_plain


def _judge_text(text: str) -> bool:
    if is_masked_text(text) or is_registry_login(text) or parse_embedded(text) is not None:
        return False
    if mentions_secret(text) and looks_secret(text):
        return False
    if looks_encoded(text):
        decoded = decode_all(text)
        if not decoded.is_whole or any(map(_holds_object, decoded.texts)):
            return False
    return _holds_no_credential(text)


def _holds_no_credential(text: str) -> bool:
    return redact(text, lambda found, name: "") == text


def _holds_object(text: str) -> bool:
    return parse_embedded(text) is not None or looks_secret(text) or not _holds_no_credential(text)


class PlainValues:
    """The plain containers among the values that were looked through; they are kept, so that no other takes their id.

    - `names`: the globs of the policy. With `paths`, nothing is plain: only masking follows paths.
    - `passwords`: an object of a kind that has any is not plain, nor a text that may hold one.
    """

    __slots__ = (
        "_has_paths",
        "_ids",
        "_kept",
        "_names",
        "_notes",
        "_objects",
        "_passwords",
        "_searched",
        "_seen",
        "_texts",
    )

    def __init__(
        self, names: tuple[str, ...] = (), paths: tuple[str, ...] = (), passwords: Passwords = NO_PASSWORDS
    ) -> None:
        self._names = compile_globs(names) if names else None
        self._has_paths = bool(paths)
        self._passwords = passwords
        self._ids: set[int] = set()
        self._seen: set[int] = set()
        self._texts: dict[str, bool] = {}
        self._searched: dict[str, bool] = {}
        self._objects: dict[str, JSONObject | list[JSONValue] | None] = {}
        self._notes: set[tuple[str, bool]] = set()
        self._kept: list[object] = []

    def add(self, value: JSONValue | bytes) -> None:
        """Look through a value; the cost is linear in its size."""
        if not self._has_paths and value is not None:
            self._kept.append(value)
            self._find(value)

    def parse(self, text: str) -> JSONObject | list[JSONValue] | None:
        """Return the object or list that a text holds as JSON, looked through; each text is read once."""
        if text not in self._objects:
            found = self._objects[text] = parse_embedded(text)
            self.add(found)
        return self._objects[text]

    def keep(self, note: tuple[str, bool]) -> None:
        """Remember that an annotation is shown whole, in objects made from versions or in others."""
        self._notes.add(note)

    def is_kept(self, note: tuple[str, bool]) -> bool:
        """Return whether an annotation was remembered as shown whole in such an object."""
        return note in self._notes

    def holds_no_credential(self, text: str) -> bool:
        """Return whether no part of a text looks like a credential; each text is searched once."""
        found = self._searched.get(text)
        if found is None:
            found = self._searched[text] = _holds_no_credential(text)
        return found

    def __contains__(self, value: object) -> bool:
        """Return whether a container was looked through, and nothing in it can be masked."""
        return id(value) in self._ids

    def _find(self, value: object) -> bool:
        if isinstance(value, str):
            return self.is_plain_text(value)
        if isinstance(value, dict):
            return self._find_in_map(value)
        if not isinstance(value, list):
            return type(value) in _SCALARS
        if id(value) not in self._seen:
            self._seen.add(id(value))
            if self._find_in_list(value):
                self._ids.add(id(value))
        return id(value) in self._ids

    def _find_in_map(self, value: dict[str, object]) -> bool:
        """Return whether a map is plain; each is looked through once. Hot: most parts are maps, names and texts."""
        number = id(value)
        if number in self._seen:
            return number in self._ids
        self._seen.add(number)
        is_special = not _SPECIAL.isdisjoint(value)
        is_plain, texts, names = not (is_special and self._may_be_secret(value)), self._texts, self._names
        for name, below in value.items():
            if not _is_plain_name(name) or (names is not None and names.fullmatch(name[:1000])):
                is_plain = False
            if isinstance(below, str):
                if is_plain and (not texts.get(below) or may_name_credential(name)):
                    is_plain = self.is_plain_text(below) and not gives_credential(name, below)
            elif type(below) is dict:  # looked through even where another part is not plain
                is_plain = (not below or self._find_in_map(below)) and is_plain  # {}: a field of managedFields
            elif type(below) not in _SCALARS:
                is_plain = self._find(below) and is_plain
        if is_special and not self._keeps_all(value):
            is_plain = False
        if is_plain:
            self._ids.add(number)
        return is_plain

    def _keeps_all(self, value: dict[str, object]) -> bool:
        """Return whether nothing in a map changes how its parts are masked."""
        is_template = not _TEMPLATES.isdisjoint(value) and self._exclude_templates(value)
        if isinstance(value.get(_SEALED), dict):  # its kind decides whether its texts are ciphertext
            self._ids.discard(id(value[_SEALED]))
            return False
        return not is_template

    def _exclude_templates(self, value: dict[str, object]) -> bool:
        """Exclude the values of Secrets that a controller makes from a template; return whether there are any.

        - A template of pods has none: it is as plain as its parts.
        """
        found = False
        for template in (value[name] for name in _TEMPLATES & value.keys()):
            for content in map(template.get, _OF_TEMPLATES) if isinstance(template, dict) else ():
                if isinstance(content, dict):
                    found = True
                    self._ids -= {id(template), id(content)}
        return found

    def _may_be_secret(self, value: dict[str, object]) -> bool:
        """Return whether a map claims to be of a kind with secrets, or names fields, or values a credential's name."""
        if any(find_credentials(value, self._gives_credential, has_plain="args" in value)):
            return True
        return claims_secret(value) or self._passwords.claims_any(value) or "managedFields" in value

    def _find_in_list(self, items: list[object]) -> bool:
        is_plain = True
        for item in items:
            if type(item) is dict:
                is_plain = self._find_in_map(item) and is_plain
            elif not self._find(item) or not self._is_plain_item(item):
                is_plain = False
        return is_plain and not find_arguments(items)

    def _is_plain_item(self, item: object) -> bool:
        """Return whether an entry is no flag before a credential; globs of a policy may name the number of an entry."""
        is_flag = isinstance(item, str) and item.startswith("-")
        return self._names is None and not (is_flag and (names_credential(item) or may_name_credential(item)))

    def _gives_credential(self, name: str, value: JSONValue) -> bool:
        is_named = self._names is not None and self._names.fullmatch(name[:1000]) is not None
        return is_named or gives_credential(name, value)

    def is_plain_text(self, text: str) -> bool:
        """Return whether a text under a plain name is shown unchanged; each text is judged once."""
        found = self._texts.get(text)
        if found is None:
            found = self._texts[text] = _is_plain_text(text) and not self._may_hold_password(text)
        return found

    def _may_hold_password(self, text: str) -> bool:
        """Return whether a text, or one that it holds encoded, may hold an object of a kind that has passwords."""
        if not self._passwords.kinds:
            return False
        decoded = decode_all(text).texts if looks_encoded(text) else ()
        return any(map(self._passwords.are_in, (text, *decoded)))
