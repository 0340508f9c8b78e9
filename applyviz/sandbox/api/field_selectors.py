"""Field selectors of lists: which fields of a kind can be selected, and what their values are.

Rule: https://kubernetes.io/docs/concepts/overview/working-with-objects/field-selectors/; `pkg/fields` of
k8s.io/apimachinery for what is refused, and the registry of each kind for the values. A kind of its own schema declares
its fields as `selectableFields`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from msgspec import Struct

from applyviz.engine.objects.values import JSONObject, JSONValue, get_at
from applyviz.kubernetes.parity.status import StatusError, bad_request
from applyviz.sandbox.storage.resources import ResourceTarget

_NAME, _NAMESPACE = "metadata.name", "metadata.namespace"
_OPERATORS = ("!=", "==", "=")


class _SelectableField(Struct, frozen=True):
    """Where the value of a field is, and what it is where the object has none."""

    path: str
    absent: str = ""
    instead: str = ""


def _same(*names: str) -> dict[str, _SelectableField]:
    return {name: _SelectableField(name) for name in names}


_INVOLVED = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
_FIELDS: Mapping[tuple[str, str], Mapping[str, _SelectableField]] = {
    ("", "pods"): {
        **_same(
            *("spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName"),
            *("status.phase", "status.podIP", "status.nominatedNodeName"),
        ),
        "spec.hostNetwork": _SelectableField("spec.hostNetwork", "false"),
        "spec.host": _SelectableField("spec.nodeName"),
    },
    ("", "namespaces"): _same("status.phase"),
    ("", "nodes"): {"spec.unschedulable": _SelectableField("spec.unschedulable", "false")},
    ("", "secrets"): _same("type"),
    ("", "services"): _same("spec.clusterIP", "spec.type"),
    ("", "replicationcontrollers"): {"status.replicas": _SelectableField("status.replicas", "0")},
    ("", "events"): {
        **_same(*(f"involvedObject.{name}" for name in _INVOLVED), "reason", "type", "reportingComponent"),
        "source": _SelectableField("source.component", instead="reportingComponent"),
    },
    ("events.k8s.io", "events"): _same(
        *(f"regarding.{name}" for name in _INVOLVED), "reason", "type", "reportingController"
    ),
    ("batch", "jobs"): {"status.successful": _SelectableField("status.succeeded", "0")},
    ("certificates.k8s.io", "certificatesigningrequests"): _same("spec.signerName"),
    ("resource.k8s.io", "resourceslices"): _same("spec.nodeName", "spec.driver"),
}
_OWN_WORDS: Mapping[str, str] = {
    "jobs": 'field label "{name}" not supported for Job',
    "resourceslices": "field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: {name}",
}


def _list_declared(target: ResourceTarget) -> dict[str, _SelectableField]:
    """Return the fields that the definition of a custom kind lets clients select."""
    versions = get_at(target.definition or {}, ("spec", "versions")) or ()
    fields = next((v.get("selectableFields") or () for v in versions if v.get("name") == target.gvk.version), ())
    return _same(*(field["jsonPath"].removeprefix(".") for field in fields))


def _list_fields(target: ResourceTarget) -> dict[str, _SelectableField]:
    key, is_custom = (target.group, target.plural), target.struct is None
    own = _list_declared(target) if is_custom else _FIELDS.get(key, {})
    has_namespace = target.resource.is_namespaced or not (is_custom or key in _FIELDS)
    return {**_same(_NAME, *((_NAMESPACE,) if has_namespace else ())), **own}


def _refuse(name: str, target: ResourceTarget) -> StatusError:
    if target.struct is None or (target.group, target.plural) in _FIELDS:
        return bad_request(_OWN_WORDS.get(target.plural, "field label not supported: {name}").format(name=name))
    return bad_request(f'"{name}" is not a known field selector: only "{_NAME}", "{_NAMESPACE}"')


def _split(text: str) -> Iterator[str]:
    """Yield the terms between commas; a backslash takes the meaning of the next character away."""
    start, is_escaped = 0, False
    for position, char in enumerate(text):
        if char == "," and not is_escaped:
            yield text[start:position]
            start = position + 1
        is_escaped = char == "\\" and not is_escaped
    yield text[start:]


def _read_term(term: str, text: str) -> tuple[str, bool, str]:
    """Return the name, whether it has to be equal, and the value."""
    for position in range(len(term)):
        for operator in _OPERATORS:
            if term.startswith(operator, position):
                value = term[position + len(operator) :]
                return term[:position], operator != "!=", _unescape(value)
    raise bad_request(f"invalid selector: '{text}'; can't understand '{term}'")


def _unescape(value: str) -> str:
    found, is_escaped = "", False
    for char in value:
        if is_escaped and char not in "\\,=":
            raise bad_request(f"invalid field selector: invalid escape sequence: \\{char}")
        if not is_escaped and char in ",=":
            raise bad_request(f"invalid field selector: unescaped character in value: {ord(char)}")
        is_escaped = char == "\\" and not is_escaped
        found += "" if is_escaped else char
    if is_escaped:
        raise bad_request("invalid field selector: invalid escape sequence: \\")
    return found


def _render(value: JSONValue) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)


def _read_value(obj: JSONObject, field: _SelectableField) -> str:
    found = _render(get_at(obj, tuple(field.path.split("."))))
    if not found and field.instead:
        found = _render(get_at(obj, tuple(field.instead.split("."))))
    return found or field.absent


def parse_field_selector(text: str) -> list[tuple[str, bool, str]]:
    """Return the terms of a selector: name, whether it has to be equal, value.

    - Raises `StatusError` (400) for an unreadable term.
    """
    return [_read_term(term, text) for term in _split(text) if term]


def find_fields(terms: list[tuple[str, bool, str]], target: ResourceTarget) -> Callable[[JSONObject], bool]:
    """Return the predicate of the terms for the objects of a resource.

    - Raises `StatusError` (400) for a field that does not support selection.
    """
    known = _list_fields(target)
    for name, _, _ in terms:
        if name not in known:
            raise _refuse(name, target)
    tests = [(known[name], is_equal, value) for name, is_equal, value in terms]
    return lambda obj: all((_read_value(obj, field) == value) is is_equal for field, is_equal, value in tests)
