"""Validate the security contexts of Pods and containers.

Rule: ValidateSecurityContext, validatePodSpecSecurityContext and validateHostUsers in `pkg/apis/core/validation` of
k8s.io/kubernetes v1.36.3.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from applyviz.engine.objects.values import JSONObject
from applyviz.kubernetes.parity.status import FieldError, duplicate, forbidden, invalid, not_supported, required
from applyviz.kubernetes.v1_36.validation.volumes import validate_relative
from applyviz.kubernetes.v1_36.validation.windows import validate_windows_options

_LARGEST_ID = 2147483647
_OUT_OF_RANGE = f"must be between 0 and {_LARGEST_ID}, inclusive"
_PROFILES = ("Localhost", "RuntimeDefault", "Unconfined")
_ONLY_OWN_USERS = "`hostUsers` must be false to use `Unmasked`"
_PROC_MOUNTS = ("Default", "Unmasked")
_GROUP_CHANGES = ("Always", "OnRootMismatch")
_GROUP_POLICIES = ("Merge", "Strict")
_NO_ESCALATION = "cannot set `allowPrivilegeEscalation` to false and "
_NO_HOST_USERS = "when `hostUsers` is false"
_SEGMENT = "[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_SYSCTL = rf"^({_SEGMENT}[\./])*{_SEGMENT}$"


def validate_pod_security(spec: JSONObject, path: str) -> Iterator[FieldError]:
    """Yield the problems of a Pod's security context."""
    context, at = spec.get("securityContext") or {}, f"{path}.securityContext"
    yield from _validate_ids(context, at, ("fsGroup", "runAsUser", "runAsGroup"))
    for i, group in enumerate(context.get("supplementalGroups") or ()):
        if not 0 <= group <= _LARGEST_ID:
            yield invalid(f"{at}.supplementalGroups[{i}]", group, _OUT_OF_RANGE)
    if spec.get("shareProcessNamespace") and spec.get("hostPID"):
        detail = "ShareProcessNamespace and HostPID cannot both be enabled"
        yield invalid(f"{at}.shareProcessNamespace", True, detail)
    yield from _validate_sysctls(context, f"{at}.sysctls")
    for name, allowed in (("fsGroupChangePolicy", _GROUP_CHANGES), ("supplementalGroupsPolicy", _GROUP_POLICIES)):
        if context.get(name) not in (*allowed, None):
            yield not_supported(f"{at}.{name}", context[name], allowed)
    if context.get("seLinuxChangePolicy") not in ("Recursive", None):  # the other one is behind a gate that is off
        yield not_supported(f"{at}.seLinuxChangePolicy", context["seLinuxChangePolicy"], ("Recursive",))
    yield from _validate_profiles(context, at)
    yield from validate_windows_options(context, at)


def validate_container_security(context: JSONObject, path: str) -> Iterator[FieldError]:
    """Yield the problems of a container's security context."""
    yield from _validate_ids(context, path, ("runAsUser", "runAsGroup"))
    kind = context.get("procMount")
    if kind not in (*_PROC_MOUNTS, None):
        yield not_supported(f"{path}.procMount", kind, _PROC_MOUNTS)
    yield from _validate_profiles(context, path)
    yield from validate_windows_options(context, path)
    if context.get("allowPrivilegeEscalation") is False:
        if context.get("privileged"):
            yield invalid(path, {**context}, f"{_NO_ESCALATION}`privileged` to true")
        if "CAP_SYS_ADMIN" in ((context.get("capabilities") or {}).get("add") or ()):
            yield invalid(path, {**context}, f"{_NO_ESCALATION}`capabilities.Add` CAP_SYS_ADMIN")


def validate_host_users(spec: JSONObject, path: str) -> Iterator[FieldError]:
    """Yield what a Pod must not use in its own user namespace (devices, namespaces of the host), and only there."""
    if spec.get("hostUsers") is not False:
        for kind in ("initContainers", "containers"):
            for i, container in enumerate(spec.get(kind) or ()):
                if (container.get("securityContext") or {}).get("procMount") == "Unmasked":
                    yield invalid(f"{path}.{kind}[{i}].securityContext.procMount", "Unmasked", _ONLY_OWN_USERS)
        return
    # The server writes two of the names with a capital letter.
    shared = {"hostNetwork": "hostNetwork", "hostPID": "HostPID", "hostIPC": "HostIPC"}
    yield from (forbidden(f"{path}.{shown}", _NO_HOST_USERS) for name, shown in shared.items() if spec.get(name))
    for kind in ("initContainers", "containers"):
        for i, container in enumerate(spec.get(kind) or ()):
            if container.get("volumeDevices"):
                yield forbidden(f"{path}.{kind}[{i}].volumeDevices", _NO_HOST_USERS)


def _validate_ids(context: JSONObject, path: str, names: tuple[str, ...]) -> Iterator[FieldError]:
    for name in names:
        value = context.get(name)
        if value is not None and not 0 <= value <= _LARGEST_ID:
            yield invalid(f"{path}.{name}", value, _OUT_OF_RANGE)


def _validate_sysctls(context: JSONObject, path: str) -> Iterator[FieldError]:
    seen: set[str] = set()
    for i, sysctl in enumerate(context.get("sysctls") or ()):
        name, at = sysctl.get("name", ""), f"{path}[{i}].name"
        if not name:
            yield required(at)
        elif len(name) > 253 or re.search(_SYSCTL, name) is None:
            yield invalid(at, name, f"must have at most 253 characters and match regex {_SYSCTL}")
        elif name in seen:
            yield duplicate(at, name)
        seen.add(name)


def _validate_profiles(context: JSONObject, path: str) -> Iterator[FieldError]:
    for name, word in (("seccompProfile", "seccomp"), ("appArmorProfile", "AppArmor")):
        profile, at = context.get(name), f"{path}.{name}"
        if profile is None:
            continue
        kind, text = profile.get("type", ""), profile.get("localhostProfile")
        if not kind:
            yield required(f"{at}.type", f"type is required when {name} is set")
        elif kind not in _PROFILES:
            yield not_supported(f"{at}.type", kind, _PROFILES)
        if kind == "Localhost":
            if text is None or (not text and name == "appArmorProfile"):
                yield required(f"{at}.localhostProfile", f"must be set when {word} type is Localhost")
            elif name == "seccompProfile":
                yield from validate_relative(text, f"{at}.localhostProfile")
            elif text != text.strip():
                yield invalid(f"{at}.localhostProfile", text, "must not be padded with whitespace")
        elif text is not None:
            shown = {**profile} if name == "seccompProfile" else text
            yield invalid(f"{at}.localhostProfile", shown, f"can only be set when {word} type is Localhost")
