"""Validation of CustomResourceDefinitions, all but their schemas.

Rule: `pkg/apis/apiextensions/validation` of k8s.io/apiextensions-apiserver v0.36.3. The server moves what is the
same in every version to the top of the spec before it validates, so the paths of its refusals are those of the top.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from applyviz.engine.objects.values import JSONObject, JSONValue, get_at, is_same_json
from applyviz.kubernetes.parity.name_formats import label_1035_problems, subdomain_problems
from applyviz.kubernetes.parity.status import (
    IMMUTABLE,
    FieldError,
    duplicate,
    forbidden,
    invalid,
    invalid_struct,
    not_supported,
    required,
)
from applyviz.kubernetes.v1_36.validation.webhooks import validate_client_config

_MIXED = "may have mixed case, but should otherwise match: "
_COLUMN_TYPES = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")
_REVIEW_VERSIONS = ("v1", "v1beta1")
_ONLY_WEBHOOK = "should not be set when strategy is not set to Webhook"
# The fields of a version in Go's words; None is what the server prints of those that it has moved.
_MOVED = {
    "schema": "validation",
    "subresources": "subresources",
    "additionalPrinterColumns": "additionalPrinterColumns",
    "selectableFields": "selectableFields",
}
_NOT_SELECTABLE = (
    "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed."
)
_BELOW = "should be a json path under "


def list_moved(spec: JSONObject, name: str) -> Iterator[tuple[str, JSONValue]]:
    """Yield the values of a field of the versions with the server's paths; only one if they are all the same."""
    versions = spec.get("versions") or ()
    values = [version.get(name) for version in versions]
    if values and all(is_same_json(value, values[0]) for value in values):
        yield f"spec.{_MOVED[name]}", values[0]
        return
    yield from ((f"spec.versions[{i}].{name}", value) for i, value in enumerate(values))


def has_status(spec: JSONObject) -> bool:
    """Return whether a version has the subresource status."""
    return any(get_at(version, ("subresources", "status")) is not None for version in spec.get("versions") or ())


def _definition(obj: JSONObject) -> Iterator[FieldError]:
    spec, name = obj["spec"], obj["metadata"].get("name", "")
    if name and name != f"{spec['names'].get('plural', '')}.{spec.get('group', '')}":
        yield invalid("metadata.name", name, 'must be spec.names.plural+"."+spec.group')
    yield from _changed(obj)
    if not any(version.get("storage") for version in spec.get("versions") or ()):
        yield invalid("status.storedVersions", None, "must have at least one stored version")


def _changed(obj: JSONObject) -> Iterator[FieldError]:
    spec = obj["spec"]
    group = spec.get("group", "")
    problems = subdomain_problems(group)
    if not group:
        yield required("spec.group")
    elif problems:
        yield invalid("spec.group", group, ",".join(problems))
    elif "." not in group:
        yield invalid("spec.group", group, "should be a domain with at least one dot")
    yield from _choice("spec.scope", spec.get("scope", ""), ("Cluster", "Namespaced"))
    yield from _versions(spec)
    yield from _names(spec["names"])
    for path, subresources in list_moved(spec, "subresources"):
        yield from _scale(get_at(subresources, ("scale",)), f"{path}.scale")
    for path, columns in list_moved(spec, "additionalPrinterColumns"):
        for i, column in enumerate(columns if isinstance(columns, list) else ()):
            yield from _column(column, f"{path}[{i}]")
    for path, fields in list_moved(spec, "selectableFields"):
        yield from _selectable(fields, _find_schema(spec, path), path)
    yield from _conversion(spec.get("conversion"), "spec.conversion")
    if spec.get("preserveUnknownFields"):
        detail = (
            "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
        )
        yield invalid("spec.preserveUnknownFields", True, detail)


def _choice(path: str, value: str, accepted: tuple[str, ...]) -> Iterator[FieldError]:
    if not value:
        yield required(path)
    elif value not in accepted:
        yield not_supported(path, value, accepted)


def _versions(spec: JSONObject) -> Iterator[FieldError]:
    versions = spec.get("versions") or ()
    shared = {name for name in _MOVED if len(list(list_moved(spec, name))) == 1 or not versions}
    shown: JSONValue = (
        [_print_version(version, shared) for version in versions] if spec.get("versions") is not None else None
    )
    names = [version.get("name", "") for version in versions]
    for i, (name, version) in enumerate(zip(names, versions, strict=True)):
        problems = label_1035_problems(name)
        if problems:
            yield invalid(f"spec.versions[{i}].name", name, ",".join(problems))
            if i == 0:  # the first one stands at the top, too
                yield invalid("spec.version", name, ",".join(problems))
        if get_at(version, ("schema", "openAPIV3Schema")) is None:
            yield required(f"spec.versions[{i}].schema.openAPIV3Schema")
        warning, path = version.get("deprecationWarning"), f"spec.versions[{i}].deprecationWarning"
        if warning is not None and not version.get("deprecated"):
            yield invalid(path, warning, "can only be set for deprecated versions")
        elif warning is not None and not 0 < len(warning.encode()) <= 256:
            yield invalid(path, warning, "must be <= 256 characters long" if warning else "must not be an empty string")
    if len(set(names)) < len(names):
        yield invalid_struct("spec.versions", shown, "must contain unique version names")
    if sum(1 for version in versions if version.get("storage")) != 1:
        yield invalid_struct("spec.versions", shown, "must have exactly one version marked as storage version")


def _print_version(version: JSONObject, shared: set[str]) -> JSONObject:
    """Return a version as the server prints it, without what it moved to the top of the spec."""
    kept = {name: None if name in shared else version.get(name) for name in _MOVED}
    return {
        "Name": version.get("name", ""),
        "Served": version.get("served", False),
        "Storage": version.get("storage", False),
        "Deprecated": version.get("deprecated", False),
        "DeprecationWarning": version.get("deprecationWarning"),
        "Schema": kept["schema"],
        "Subresources": kept["subresources"],
        "AdditionalPrinterColumns": kept["additionalPrinterColumns"],
        "SelectableFields": None,
    }


def _find_schema(spec: JSONObject, path: str) -> JSONObject:
    """Return the schema beside the selectable fields of a version, or that of the first version."""
    versions, index = spec.get("versions") or [{}], path.partition("[")[2].partition("]")[0]
    found: JSONObject = get_at(versions[int(index or 0)], ("schema", "openAPIV3Schema")) or {}
    return found


def _selectable(fields: JSONValue, schema: JSONObject, path: str) -> Iterator[FieldError]:
    """Yield the problems of the fields by which objects can be selected."""
    seen: set[str] = set()
    for i, field in enumerate(fields if isinstance(fields, list) else ()):
        at, text = f"{path}[{i}].jsonPath", field.get("jsonPath") or ""
        names = text.split(".")[1:]
        problem, found = _follow(text, names, schema)
        if not text:
            yield required(at)
        elif problem:
            yield invalid(at, text, f"is an invalid path: {problem}")
        else:
            if names[0] == "metadata":
                yield invalid(at, text, "must not point to fields in metadata")
            if found.get("type") not in ("string", "boolean", "integer"):
                yield invalid(at, text, _NOT_SELECTABLE)
            if text in seen:
                yield duplicate(at, text)
            seen.add(text)


def _follow(text: str, names: list[str], schema: JSONObject) -> tuple[str, JSONObject]:
    """Return why a path leads nowhere, and the schema that it leads to."""
    if "[" in text:
        return "array notation is not allowed", {}
    if text and not text.startswith("."):
        return f"expected [ or . but got: {text.partition('.')[0]}", {}
    for name in names:
        inner = (schema.get("properties") or {}).get(name)
        if inner is None:
            return "does not refer to a valid field", {}
        schema = inner
    return "", schema


def _names(names: JSONObject) -> Iterator[FieldError]:
    for name in ("plural", "singular", "kind", "listKind"):
        text, is_kind = names.get(name, ""), name.lower().endswith("kind")
        problems = label_1035_problems(text.lower() if is_kind else text) if text else ()
        if not text:
            yield required(f"spec.names.{name}")
        elif problems:
            yield invalid(f"spec.names.{name}", text, (_MIXED if is_kind else "") + ",".join(problems))
    if names.get("kind") and names.get("kind") == names.get("listKind"):
        yield invalid("spec.names.listKind", names["listKind"], "kind and listKind may not be the same")
    for name in ("shortNames", "categories"):
        for i, text in enumerate(names.get(name) or ()):
            problems = label_1035_problems(text)
            if problems:
                yield invalid(f"spec.names.{name}[{i}]", text, ",".join(problems))


def _scale(scale: JSONObject | None, path: str) -> Iterator[FieldError]:
    if scale is None:
        return
    for name, roots, words in (
        ("specReplicasPath", (".spec.",), ".spec"),
        ("statusReplicasPath", (".status.",), ".status"),
        ("labelSelectorPath", (".spec.", ".status."), "either .spec or .status"),
    ):
        text = scale.get(name) or ""
        if text and not text.startswith("."):
            yield invalid(f"{path}.{name}", text, "must be a simple json path starting with .")
        elif text and not text.startswith(roots):
            yield invalid(f"{path}.{name}", text, f"{_BELOW}{words}")
        elif not text and name != "labelSelectorPath":
            yield required(f"{path}.{name}")


def _column(column: JSONObject, path: str) -> Iterator[FieldError]:
    if not column.get("name"):
        yield required(f"{path}.name")
    kind, words, where = column.get("type") or "", f"must be one of {','.join(_COLUMN_TYPES)}", column.get("jsonPath")
    if not kind:
        yield required(f"{path}.type", words)
    elif kind not in _COLUMN_TYPES:
        yield invalid(f"{path}.type", kind, words)
    if column.get("format") and column["format"] not in _COLUMN_FORMATS:
        yield invalid(f"{path}.format", column["format"], f"must be one of {','.join(_COLUMN_FORMATS)}")
    if not where:
        yield required(f"{path}.JSONPath")
    elif not where.startswith("."):
        yield invalid(f"{path}.JSONPath", where, "must be a simple json path starting with .")


def _conversion(conversion: JSONObject | None, path: str) -> Iterator[FieldError]:
    if conversion is None:
        return
    strategy, webhook = conversion.get("strategy", ""), conversion.get("webhook") or {}
    config, versions = webhook.get("clientConfig"), webhook.get("conversionReviewVersions") or []
    yield from _choice(f"{path}.strategy", strategy, ("None", "Webhook"))
    if strategy != "Webhook":
        given = {"webhookClientConfig": config is not None, "conversionReviewVersions": bool(versions)}
        yield from (forbidden(f"{path}.{name}", _ONLY_WEBHOOK) for name, is_given in given.items() if is_given)
        return
    if config is None:
        yield required(f"{path}.webhookClientConfig", "required when strategy is set to Webhook")
    else:
        yield from validate_client_config(config, f"{path}.webhookClientConfig")
    yield from _review_versions(versions, f"{path}.conversionReviewVersions")


def _review_versions(versions: list[str], path: str) -> Iterator[FieldError]:
    if not versions:
        yield required(path)
        return
    for i, version in enumerate(versions):
        problems = ["duplicate version"] if version in versions[:i] else label_1035_problems(version)
        yield from (invalid(f"{path}[{i}]", version, problem) for problem in problems)
    if not set(versions) & set(_REVIEW_VERSIONS):
        yield invalid(path, versions, f"must include at least one of {', '.join(_REVIEW_VERSIONS)}")


def _update(obj: JSONObject, live: JSONObject) -> Iterator[FieldError]:
    conditions = {one.get("type"): one.get("status") for one in get_at(live, ("status", "conditions")) or ()}
    is_established = conditions.get("Established", "True") == "True"
    fixed = [("scope",), ("names", "kind")] if is_established else []
    for path in (*fixed, ("group",), ("names", "plural")):
        value, before = (get_at(one["spec"], path) or "" for one in (obj, live))
        if value != before:
            yield invalid("spec." + ".".join(path), value, IMMUTABLE)
    yield from _stored(obj["spec"], get_at(live, ("status", "storedVersions")) or [])


def _stored(spec: JSONObject, stored: list[str]) -> Iterator[FieldError]:
    names = [version.get("name") for version in spec.get("versions") or ()]
    for i, name in enumerate(stored):
        if name not in names:
            detail = (
                f"missing from spec.versions; {name} was previously a storage version, and must remain in "
                f"spec.versions until a storage migration ensures no data remains persisted in {name} and removes "
                f"{name} from status.storedVersions"
            )
            yield invalid(f"status.storedVersions[{i}]", name, detail)


_PLURAL = "customresourcedefinitions"
CREATE: Mapping[str, Callable[[JSONObject], Iterator[FieldError]]] = {_PLURAL: _definition}
CHANGED: Mapping[str, Callable[[JSONObject], Iterator[FieldError]]] = {_PLURAL: _changed}
UPDATE: Mapping[str, Callable[[JSONObject, JSONObject], Iterator[FieldError]]] = {_PLURAL: _update}
