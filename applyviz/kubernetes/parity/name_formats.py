"""Check the formats of names, labels and annotations, with the server's message for each violation.

Rule: k8s.io/apimachinery `pkg/util/validation` and `pkg/api/validation`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence

from applyviz.engine.objects.known_names import FOREGROUND, ORPHAN
from applyviz.engine.objects.values import JSONObject, JSONValue, MutableObject
from applyviz.kubernetes.parity.status import IMMUTABLE, FieldError, FieldErrorType, forbidden, invalid, required

_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_LABEL_1035 = r"[a-z]([-a-z0-9]*[a-z0-9])?"
_QUALIFIED = r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_LABEL_VALUE = rf"({_QUALIFIED})?"
_CONFIG_KEY = r"[-._a-zA-Z0-9]+"

SUBDOMAIN_MESSAGE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start "
    f"and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '{_SUBDOMAIN}')"
)
_UNDERSCORED_LABEL = r"_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_UNDERSCORED = rf"{_UNDERSCORED_LABEL}(\.{_UNDERSCORED_LABEL})*"
_UNDERSCORED_MESSAGE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must "
    f"start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '{_UNDERSCORED}')"
)
LABEL_MESSAGE = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end "
    f"with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '{_LABEL}')"
)
LABEL_1035_MESSAGE = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
    f"'{_LABEL_1035}')"
)
_QUALIFIED_MESSAGE = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    f"character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{_QUALIFIED}')"
)
_LABEL_VALUE_MESSAGE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    f"'{_LABEL_VALUE}')"
)
_CONFIG_KEY_MESSAGE = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  "
    f"or 'key-name', regex used for validation is '{_CONFIG_KEY}')"
)
_ANNOTATIONS_LIMIT = 256 * 1024


def _matches(pattern: str, text: str) -> bool:
    return re.fullmatch(pattern, text) is not None


def subdomain_problems(text: str, unit: str = "characters") -> list[str]:
    """Return why a text is not a DNS-1123 subdomain; `unit` is the word that its longest length is counted in."""
    problems = [f"must be no more than 253 {unit}"] if len(text) > 253 else []
    return problems if _matches(_SUBDOMAIN, text) else [*problems, SUBDOMAIN_MESSAGE]


def underscored_subdomain_problems(text: str) -> list[str]:
    """Return why a text is not a DNS-1123 subdomain whose labels may begin with `_` and have more of them inside."""
    problems = ["must be no more than 253 characters"] if len(text) > 253 else []
    return problems if _matches(_UNDERSCORED, text) else [*problems, _UNDERSCORED_MESSAGE]


def label_problems(text: str) -> list[str]:
    """Return why a text is not a DNS-1123 label."""
    problems = ["must be no more than 63 characters"] if len(text) > 63 else []
    if _matches(_LABEL, text):
        return problems
    if "." in text and _matches(_SUBDOMAIN, text):
        return [*problems, "must not contain dots"]
    return [*problems, LABEL_MESSAGE]


def label_1035_problems(text: str) -> list[str]:
    """Return why a text is not a DNS-1035 label."""
    problems = ["must be no more than 63 characters"] if len(text) > 63 else []
    return problems if _matches(_LABEL_1035, text) else [*problems, LABEL_1035_MESSAGE]


def path_segment_problems(text: str) -> list[str]:
    """Return why a text is not a path segment (names of RBAC objects)."""
    if text in (".", ".."):
        return [f"may not be '{text}'"]
    return [f"may not contain '{c}'" for c in ("/", "%") if c in text]


def qualified_name_problems(text: str, word: str = "a qualified name") -> list[str]:
    """Return why a text is not a qualified name (label and annotation keys)."""
    prefix, slash, name = text.rpartition("/")
    problems: list[str] = []
    if slash and "/" in prefix:
        tail = _QUALIFIED_MESSAGE.removeprefix("name part")
        return [f"{word}{tail} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"]
    if slash:
        problems += (
            ["prefix part must be non-empty"]
            if not prefix
            else [f"prefix part {p}" for p in subdomain_problems(prefix, "bytes")]
        )
    if not name:
        problems.append("name part must be non-empty")
    elif len(name) > 63:
        problems.append("name part must be no more than 63 bytes")
    return problems if _matches(_QUALIFIED, name) else [*problems, _QUALIFIED_MESSAGE]


def label_value_problems(text: str) -> list[str]:
    """Return why a text is not a label value."""
    problems = ["must be no more than 63 bytes"] if len(text) > 63 else []
    return problems if _matches(_LABEL_VALUE, text) else [*problems, _LABEL_VALUE_MESSAGE]


def config_key_problems(text: str) -> list[str]:
    """Return why a text is not a key of a ConfigMap or Secret."""
    problems = ["must be no more than 253 characters"] if len(text) > 253 else []
    if not _matches(_CONFIG_KEY, text):
        problems.append(_CONFIG_KEY_MESSAGE)
    if text in (".", ".."):
        problems.append(f"must not be '{text}'")
    elif text.startswith(".."):
        problems.append("must not start with '..'")
    return problems


def validate_labels(labels: Mapping[str, str] | None, path: str) -> Iterator[FieldError]:
    """Yield the problems of a map of labels."""
    for key, value in sorted((labels or {}).items()):
        for problem in qualified_name_problems(key, "a valid label key"):
            yield invalid(path, key, problem)
        for problem in label_value_problems(value):
            yield invalid(path, value, problem)


def validate_annotations(annotations: Mapping[str, str] | None, path: str) -> Iterator[FieldError]:
    """Yield the problems of a map of annotations."""
    size = 0
    for key, value in sorted((annotations or {}).items()):
        for problem in qualified_name_problems(key.lower()):
            yield invalid(path, key, problem)
        size += len(key.encode()) + len(value.encode())
    if size > _ANNOTATIONS_LIMIT:
        text = f"Too long: may not be more than {_ANNOTATIONS_LIMIT} bytes"
        yield FieldError(FieldErrorType.TOO_LONG, path, text)


def _validate_owners(owners: list[JSONObject] | None, path: str) -> Iterator[FieldError]:
    first = ""
    for owner in owners or ():
        version = owner.get("apiVersion") or ""
        if not version or version.count("/") > 1:
            yield invalid(f"{path}.apiVersion", version, "version must not be empty")
        for name in ("kind", "name", "uid"):
            if not owner.get(name):
                yield invalid(f"{path}.{name}", "", "must not be empty")
        if (version, owner.get("kind")) in _NO_OWNERS:
            group = version if "/" in version else f"/{version}"
            detail = f"{group}, Kind=Event is disallowed from being an owner"
            yield _refuse_owners(path, _in_go_order(owner), detail)
        if owner.get("controller"):
            shown = f"{owner.get('kind', '')}/{owner.get('name', '')}"
            if first:
                both = f'Found "true" in references for {first} and {shown}'
                detail = f"Only one reference can have Controller set to true. {both}"
                yield _refuse_owners(path, [_in_go_order(o) for o in owners or ()], detail)
            first = first or shown


_NO_OWNERS = frozenset({("v1", "Event"), ("events.k8s.io/v1", "Event"), ("events.k8s.io/v1beta1", "Event")})
_OWNER_FIELDS = ("apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion")


def _in_go_order(owner: JSONObject) -> JSONValue:
    """Return an owner reference with its fields in the order of the Go struct."""
    return {name: owner[name] for name in _OWNER_FIELDS if name in owner}


def _refuse_owners(path: str, value: JSONValue, detail: str) -> FieldError:
    """Return the error for an owner, whose value is printed in its own order."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return FieldError(FieldErrorType.INVALID, path, f"Invalid value: {text}: {detail}")


def deduplicate_owners(meta: MutableObject) -> tuple[str, ...]:
    """Drop repeated owner references; return the warning about them."""
    kept: list[JSONObject] = []
    repeated: list[str] = []
    for owner in meta.get("ownerReferences") or ():
        if owner in kept:
            repeated.append(str(owner.get("uid", "")))
        else:
            kept.append(owner)
    if not repeated:
        return ()
    meta["ownerReferences"] = kept
    return (f"{_REPEATED_OWNERS}; duplicate UID(s) observed: {', '.join(repeated)}",)


_REPEATED_OWNERS = (
    ".metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, and may reject "
    "such requests as early as 1.24; please fix your requests"
)


def mask_trailing_dash(prefix: str) -> str:
    """Return a prefix of names for the rule of a name: a dash at its end is followed by more characters."""
    return prefix[:-2] + "a" if len(prefix) > 1 and prefix.endswith("-") else prefix


def validate_metadata(
    meta: JSONObject,
    problems_of_name: list[str],
    path: str = "metadata",
    *,
    problems_of_prefix: Sequence[str] = (),
    is_custom: bool = False,
) -> Iterator[FieldError]:
    """Yield the problems of an object's metadata; the rule of its kind checks the name and its prefix.

    - `is_custom`: a finalizer without a domain is valid on a custom resource.
    """
    for problem in problems_of_prefix:
        yield invalid(f"{path}.generateName", meta.get("generateName", ""), problem)
    if not meta.get("name"):
        yield required(f"{path}.name", "name or generateName is required")
    else:
        for problem in problems_of_name:
            yield invalid(f"{path}.name", meta["name"], problem)
    if namespace := meta.get("namespace"):
        for problem in label_problems(namespace):
            yield invalid(f"{path}.namespace", namespace, problem)
    yield from validate_labels(meta.get("labels"), f"{path}.labels")
    yield from validate_annotations(meta.get("annotations"), f"{path}.annotations")
    yield from _validate_owners(meta.get("ownerReferences"), f"{path}.ownerReferences")
    for i, finalizer in enumerate(meta.get("finalizers") or ()):
        for problem in qualified_name_problems(finalizer):
            yield invalid(f"{path}.finalizers", finalizer, problem)
        if (
            not is_custom
            and "/" not in finalizer
            and finalizer not in (FOREGROUND, ORPHAN, "kubernetes")
            and ("." not in finalizer)
        ):
            yield invalid(
                f"{path}.finalizers[{i}]",
                finalizer,
                "name is neither a standard finalizer name nor is it fully qualified",
            )


def validate_metadata_update(meta: JSONObject, live: JSONObject) -> Iterator[FieldError]:
    """Yield changes of metadata that an update may not make."""
    if live.get("deletionTimestamp"):
        added = [f for f in meta.get("finalizers") or () if f not in (live.get("finalizers") or ())]
        if added:
            listed = "[]string{" + ", ".join(json.dumps(f) for f in added) + "}"
            yield forbidden(
                "metadata.finalizers",
                f"no new finalizers can be added if the object is being deleted, found new finalizers {listed}",
            )
    for name in ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"):
        if meta.get(name) != live.get(name):
            yield invalid(f"metadata.{name}", meta.get(name), IMMUTABLE)
    yield from validate_labels(meta.get("labels"), "metadata.labels")
    yield from validate_annotations(meta.get("annotations"), "metadata.annotations")
    yield from _validate_owners(meta.get("ownerReferences"), "metadata.ownerReferences")
