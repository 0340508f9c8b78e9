"""Validate the environment variables of a container, and references to fields of its Pod.

Rule: ValidateEnv, ValidateEnvFrom and validateObjectFieldSelector in `pkg/apis/core/validation` of
k8s.io/kubernetes v1.36.3.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from applyviz.engine.objects.values import JSONObject
from applyviz.kubernetes.parity.name_formats import config_key_problems, qualified_name_problems, subdomain_problems
from applyviz.kubernetes.parity.status import FieldError, invalid, not_supported, required

_OF_BOTH = ("metadata.name", "metadata.namespace", "metadata.uid")
_OF_VARIABLES = (
    *_OF_BOTH, "spec.nodeName", "spec.serviceAccountName",
    "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs",
)  # fmt: skip
_OF_FILES = ("metadata.annotations", "metadata.labels", *_OF_BOTH)
_CONVERTED = {*_OF_VARIABLES, *_OF_FILES, "spec.restartPolicy", "spec.schedulerName", "status.phase"}
_AMOUNTS = tuple(f"{word}.{name}" for word in ("limits", "requests") for name in ("cpu", "ephemeral-storage", "memory"))
_SUBSCRIPT = re.compile(r"(metadata\.(?:labels|annotations))\['(.+)'\]\Z")
_SOURCES = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")
_NO_SOURCE = "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
_NO_NAME = "a valid environment variable name must consist only of printable ASCII characters other than '='"


def validate_environment(container: JSONObject, path: str) -> Iterator[FieldError]:
    """Yield the problems of a container's variables."""
    for i, variable in enumerate(container.get("env") or ()):
        yield from _validate_variable(variable, f"{path}.env[{i}]")
    yield from _validate_env_from(container.get("envFrom") or (), f"{path}.envFrom")


def _validate_variable(variable: JSONObject, path: str) -> Iterator[FieldError]:
    name, source = variable.get("name", ""), variable.get("valueFrom")
    if not name:
        yield required(f"{path}.name")
    elif not _is_name(name):
        yield invalid(f"{path}.name", name, _NO_NAME)
    if source is None:
        return
    at, named = f"{path}.valueFrom", [n for n in _SOURCES if source.get(n) is not None]
    if not named:
        yield invalid(at, "", _NO_SOURCE)
    elif variable.get("value"):
        yield invalid(at, "", "may not be specified when `value` is not empty")
    elif len(named) > 1:
        yield invalid(at, "", "may not have more than one field specified at a time")
    yield from validate_field_reference(source.get("fieldRef"), f"{at}.fieldRef", is_file=False)
    yield from validate_amount_reference(source.get("resourceFieldRef"), f"{at}.resourceFieldRef", is_file=False)
    for one in ("configMapKeyRef", "secretKeyRef"):
        if source.get(one) is not None:
            yield from _validate_key_reference(source[one], f"{at}.{one}")


def _is_name(name: str) -> bool:
    return all(" " <= character <= "~" and character != "=" for character in name)


def _validate_key_reference(reference: JSONObject, path: str) -> Iterator[FieldError]:
    name, key = reference.get("name", ""), reference.get("key", "")
    yield from (invalid(f"{path}.name", name, problem) for problem in subdomain_problems(name))
    if not key:
        yield required(f"{path}.key")
    yield from (invalid(f"{path}.key", key, problem) for problem in (config_key_problems(key) if key else ()))


def _validate_env_from(sources: Sequence[JSONObject], path: str) -> Iterator[FieldError]:
    for i, source in enumerate(sources):
        prefix = source.get("prefix", "")
        if prefix and not _is_name(prefix):
            yield invalid(f"{path}[{i}].prefix", prefix, _NO_NAME)
        named = [n for n in ("configMapRef", "secretRef") if source.get(n) is not None]
        for one in named:
            name, at = source[one].get("name", ""), f"{path}[{i}].{one}.name"
            if not name:
                yield required(at)
            yield from (invalid(at, name, problem) for problem in (subdomain_problems(name) if name else ()))
        if len(named) != 1:
            some = "may not have more than one field specified at a time"
            yield invalid(path, "", some if named else "must specify one of: `configMapRef` or `secretRef`")


def validate_field_reference(reference: JSONObject | None, path: str, *, is_file: bool) -> Iterator[FieldError]:
    """Yield the problems of a reference to a field of the Pod, from a variable or from a file of a volume."""
    if reference is None:
        return
    text = reference.get("fieldPath", "")
    if not text:
        yield required(f"{path}.fieldPath")
        return
    subscripted = _SUBSCRIPT.match(text)
    if subscripted:
        key = subscripted[2].lower() if subscripted[1].endswith("annotations") else subscripted[2]
        yield from (invalid(path, key, problem) for problem in qualified_name_problems(key))
    elif text not in _CONVERTED:
        yield invalid(f"{path}.fieldPath", text, f"error converting fieldPath: field label not supported: {text}")
    elif text not in (allowed := _OF_FILES if is_file else _OF_VARIABLES):
        yield not_supported(f"{path}.fieldPath", text, allowed)


def validate_amount_reference(reference: JSONObject | None, path: str, *, is_file: bool) -> Iterator[FieldError]:
    """Yield the problems of a reference to a resource of a container."""
    if reference is None:
        return
    name = reference.get("resource", "")
    if is_file and not reference.get("containerName"):
        yield required(f"{path}.containerName")
    elif not name:
        yield required(f"{path}.resource")
    elif name not in _AMOUNTS and not name.startswith(("limits.hugepages-", "requests.hugepages-")):
        yield not_supported(f"{path}.resource", name, _AMOUNTS)
