"""Validate the environment variables of a container, and references to fields of its Pod.

Rule: ValidateEnv, ValidateEnvFrom and validateObjectFieldSelector in `pkg/apis/core/validation` of
k8s.io/kubernetes v1.36.3.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from applyviz.engine.objects.quantities import canonical_quantity
from applyviz.engine.objects.values import JSONObject
from applyviz.kubernetes.parity.name_formats import (
    config_key_problems,
    label_problems,
    qualified_name_problems,
    subdomain_problems,
)
from applyviz.kubernetes.parity.status import FieldError, invalid, not_found_value, not_supported, required

_OF_BOTH = ("metadata.name", "metadata.namespace", "metadata.uid")
_OF_VARIABLES = (
    *_OF_BOTH, "spec.nodeName", "spec.serviceAccountName",
    "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs",
)  # fmt: skip
_OF_FILES = ("metadata.annotations", "metadata.labels", *_OF_BOTH)
_CONVERTED = {*_OF_VARIABLES, *_OF_FILES, "spec.restartPolicy", "spec.schedulerName", "status.phase"}
_AMOUNTS = tuple(f"{word}.{name}" for word in ("limits", "requests") for name in ("cpu", "ephemeral-storage", "memory"))
_UNITS = ("1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei")
_UNITS_OF = {"memory": "memory", "ephemeral-storage": "local ephemeral storage"}
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
    if source.get("fileKeyRef") is not None:
        yield from _validate_file_reference(source["fileKeyRef"], f"{at}.fileKeyRef")


def validate_file_references(spec: JSONObject, path: str) -> Iterator[FieldError]:
    """Yield the variables whose file is not in an emptyDir of the Pod."""
    volumes = {volume.get("name"): volume for volume in spec.get("volumes") or ()}
    for kind in ("initContainers", "containers"):
        for i, container in enumerate(spec.get(kind) or ()):
            for j, variable in enumerate(container.get("env") or ()):
                reference = (variable.get("valueFrom") or {}).get("fileKeyRef")
                name = (reference or {}).get("volumeName", "")
                at = f"{path}.{kind}[{i}].env[{j}].valueFrom.fileKeyRef.volumeName"
                if reference is not None and name not in volumes:
                    yield not_found_value(at, name)
                elif reference is not None and volumes[name].get("emptyDir") is None:
                    yield invalid(at, name, "referenced volume must be of type emptyDir")


def _is_name(name: str) -> bool:
    return all(" " <= character <= "~" and character != "=" for character in name)


def _validate_key_reference(reference: JSONObject, path: str) -> Iterator[FieldError]:
    name, key = reference.get("name", ""), reference.get("key", "")
    yield from (invalid(f"{path}.name", name, problem) for problem in subdomain_problems(name))
    if not key:
        yield required(f"{path}.key")
    yield from (invalid(f"{path}.key", key, problem) for problem in (config_key_problems(key) if key else ()))


def _validate_file_reference(reference: JSONObject, path: str) -> Iterator[FieldError]:
    key, volume, file = (reference.get(name, "") for name in ("key", "volumeName", "path"))
    yield from (required(f"{path}.{name}") for name in ("key", "volumeName", "path") if not reference.get(name))
    if key and not _is_name(key):
        yield invalid(f"{path}.key", key, _NO_NAME)
    problems = label_problems(volume) if volume else []
    yield from (invalid(f"{path}.volumeName", volume, problem) for problem in problems)
    if ".." in file.split("/"):
        yield invalid(f"{path}.path", file, "must not contain '..'")


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
    yield from _validate_divisor(name, reference.get("divisor"), f"{path}.divisor")


def _validate_divisor(name: str, divisor: str | None, path: str) -> Iterator[FieldError]:
    """Yield the problem of a unit in which an amount is given."""
    unit, word = canonical_quantity(str(divisor or "0")) or "0", name.partition(".")[2]
    if unit == "0":
        return
    if word == "cpu":
        if unit not in ("1m", "1"):
            yield invalid(path, name, "only divisor's values 1m and 1 are supported with the cpu resource")
    elif unit not in _UNITS and (word in _UNITS_OF or word.startswith("hugepages-")):
        detail = f"only divisor's values {', '.join(_UNITS)} are supported with the"
        yield invalid(path, name, f"{detail} {_UNITS_OF.get(word, 'hugepages')} resource")
