"""Validate what only Pods of one operating system may say: Windows options, host processes, and the system itself.

Rule: validateWindowsSecurityContextOptions, validateWindowsHostProcessPod, validateOS, validateLinux and
validateWindows in `pkg/apis/core/validation` of k8s.io/kubernetes v1.36.3.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from applyviz.engine.objects.values import JSONObject
from applyviz.kubernetes.parity.name_formats import subdomain_problems
from applyviz.kubernetes.parity.status import FieldError, forbidden, invalid, not_supported, required

_SYSTEMS = ("linux", "windows")
_NO_HOST_NETWORK = "hostNetwork must be true if pod contains any hostProcess containers"
_ALL_OR_NONE = "If pod contains any hostProcess containers then all containers must be HostProcess containers"
_NOT_ON_LINUX = "windows options cannot be set for a linux pod"
_NOT_ON_WINDOWS = "cannot be set for a windows pod"
_LINUX_POD = ("hostUsers", "hostPID", "hostIPC", "shareProcessNamespace")
_FALSE_COUNTS = ("hostUsers", "shareProcessNamespace")
_LINUX_POD_CONTEXT = (
    "appArmorProfile", "seLinuxOptions", "seccompProfile", "fsGroup", "fsGroupChangePolicy", "runAsUser", "runAsGroup",
    "supplementalGroups", "supplementalGroupsPolicy", "seLinuxChangePolicy",
)  # fmt: skip
_LINUX_CONTEXT = (
    "appArmorProfile", "seLinuxOptions", "seccompProfile", "capabilities", "readOnlyRootFilesystem", "privileged",
    "allowPrivilegeEscalation", "procMount", "runAsUser", "runAsGroup",
)  # fmt: skip
_CONTAINERS = ("initContainers", "containers", "ephemeralContainers")
_MOST_SPEC = 64
_MOST_DOMAIN, _MOST_USER = 256, 104
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_NET_BIOS = re.compile(r"""[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}\Z""")
_DOMAIN = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?)*\Z")
_ONLY_DOTS = re.compile(r"[. ]+\Z")
_BAD_SIGNS = re.compile(r'["/\\:;|=,+*?<>@\[\]]')
_SIGNS = r'"/\:;|=,+*?<>@[]'


def validate_windows_options(context: JSONObject, path: str) -> Iterator[FieldError]:
    """Yield the problems of the Windows options of a security context."""
    options, at = context.get("windowsOptions") or {}, f"{path}.windowsOptions"
    name, spec, user = (options.get(n) for n in ("gmsaCredentialSpecName", "gmsaCredentialSpec", "runAsUserName"))
    if name is not None:
        problems = subdomain_problems(name)
        yield from (invalid(f"{at}.gmsaCredentialSpecName", name, problem) for problem in problems)
    if spec == "":
        yield invalid(f"{at}.gmsaCredentialSpec", spec, "gmsaCredentialSpec cannot be an empty string")
    elif spec is not None and len(spec) > _MOST_SPEC * 1024:
        yield invalid(f"{at}.gmsaCredentialSpec", spec, f"gmsaCredentialSpec size must be under {_MOST_SPEC} KiB")
    if user is not None:
        problems = list(_find_user_problems(user))
        yield from (invalid(f"{at}.runAsUserName", user, f"runAsUserName{problem}") for problem in problems)


def _find_user_problems(name: str) -> Iterator[str]:
    """Yield what is wrong with the name of a Windows user, which may have its domain before a backslash."""
    if not name:
        yield " cannot be an empty string"
    elif _CONTROL.search(name):
        yield " cannot contain control characters"
    elif name.count("\\") > 1:
        yield " cannot contain more than one backslash"
    else:
        domain, has_domain, user = name.rpartition("\\")
        if len(domain) >= _MOST_DOMAIN:
            yield f"'s Domain length must be under {_MOST_DOMAIN} characters"
        if has_domain and not (_NET_BIOS.match(domain) or _DOMAIN.match(domain)):
            yield "'s Domain doesn't match the NetBios nor the DNS format"
        if not user:
            yield "'s User cannot be empty"
        elif len(user) > _MOST_USER:
            yield f"'s User length must not be longer than {_MOST_USER} characters"
        if _ONLY_DOTS.match(user):
            yield "'s User cannot contain only periods or spaces"
        if _BAD_SIGNS.search(user):
            yield f"'s User cannot contain the following characters: {_SIGNS}"


def validate_system(spec: JSONObject, path: str) -> Iterator[FieldError]:
    """Yield what does not go with the host processes of a Pod or with its operating system."""
    yield from _validate_host_processes(spec, path)
    system = spec.get("os")
    if system is None:
        return
    name = system.get("name") or ""
    if not name:
        yield required(f"{path}.os.name")
    elif name not in _SYSTEMS:
        yield not_supported(f"{path}.os", name, _SYSTEMS)
    elif name == "linux":
        for at, context in _list_contexts(spec, path):
            if context.get("windowsOptions") is not None:
                yield forbidden(f"{at}.windowsOptions", _NOT_ON_LINUX)
    else:
        yield from _validate_for_windows(spec, path)


def _list_contexts(spec: JSONObject, path: str) -> Iterator[tuple[str, JSONObject]]:
    """Yield the security contexts with their paths: that of the Pod, then those of its containers."""
    yield f"{path}.securityContext", spec.get("securityContext") or {}
    for kind in _CONTAINERS:
        for i, container in enumerate(spec.get(kind) or ()):
            yield f"{path}.{kind}[{i}].securityContext", container.get("securityContext") or {}


def _validate_for_windows(spec: JSONObject, path: str) -> Iterator[FieldError]:
    for name in _LINUX_POD:
        if spec.get(name) or (name in _FALSE_COUNTS and spec.get(name) is not None):
            yield forbidden(f"{path}.{name}", _NOT_ON_WINDOWS)
    for i, (at, context) in enumerate(_list_contexts(spec, path)):
        refused = [name for name in (_LINUX_CONTEXT if i else _LINUX_POD_CONTEXT) if context.get(name) is not None]
        refused += ["sysctls"] if not i and context.get("sysctls") else []
        yield from (forbidden(f"{at}.{name}", _NOT_ON_WINDOWS) for name in refused)


def _validate_host_processes(spec: JSONObject, path: str) -> Iterator[FieldError]:
    (_at, own), *others = _list_contexts(spec, path)
    of_pod = (own.get("windowsOptions") or {}).get("hostProcess")
    count = 0
    for at, context in others:
        chosen = (context.get("windowsOptions") or {}).get("hostProcess")
        if None not in (of_pod, chosen) and of_pod is not chosen:
            shown = str(of_pod).lower()
            detail = f"pod hostProcess value must be identical if both are specified, was {shown}"
            yield invalid(f"{at}.windowsOptions.hostProcess", chosen, detail)
        count += bool(of_pod if chosen is None else chosen)
    if not count:
        return
    if count != len(others):
        yield invalid(path, "", _ALL_OR_NONE)
    if not spec.get("hostNetwork"):
        yield invalid(f"{path}.hostNetwork", False, _NO_HOST_NETWORK)
