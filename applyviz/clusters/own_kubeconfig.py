"""The kubeconfig of this machine: its contexts, merged as kubectl merges them, and the connection of one context.

The files are those of `KUBECONFIG`, else `~/.kube/config`: missing files are left out, and the first file that names a
context, cluster, user or current context wins. Listing only reads the files. Loading a context may run its credential
plugin (`exec`) as the user of this process, so only callers on a personal installation, or commands on this machine,
may load one. Rule: https://kubernetes.io/docs/concepts/configuration/organize-cluster-access-kubeconfig/.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

import yaml
from kubernetes import client, config
from kubernetes.config.kube_config import ConfigNode, KubeConfigLoader

from applyviz.clusters.exec_plugins import run_plugin
from applyviz.engine.objects.errors import ClusterError

_MAX_BYTES = 4 * 1024 * 1024
_IMPERSONATION = ("as", "as-uid", "as-groups", "as-user-extra")
_SECTIONS = {"contexts": "context", "clusters": "cluster", "users": "user"}


@dataclass(frozen=True, slots=True)
class OwnContext:
    """One context of this machine's kubeconfig. Holds no credential.

    - `server`: the address without user and query; "" where the context names no cluster of the files.
    - `plugin`: the command that a connection runs; "" without one.
    - `problem`: why it cannot be used, as a sentence.
    """

    name: str
    server: str = ""
    namespace: str = ""
    plugin: str = ""
    is_current: bool = False
    problem: str = ""


@dataclass(frozen=True, slots=True)
class OwnKubeconfig:
    """All contexts of this machine, the files that were looked for, and what could not be read."""

    contexts: tuple[OwnContext, ...]
    paths: tuple[str, ...]
    problems: tuple[str, ...] = ()


def find_paths(given: str = "") -> tuple[str, ...]:
    """Return the absolute paths of the files: those given, else of `KUBECONFIG`, else `~/.kube/config`."""
    listed = given or os.environ.get("KUBECONFIG", "")
    names = [name for name in listed.split(os.pathsep) if name] or ["~/.kube/config"]
    return tuple(dict.fromkeys(str(Path(name).expanduser().absolute()) for name in names))


def _read_file(path: str) -> Mapping[str, Any]:
    """Return the content of one file; raises `ClusterError` with a sentence. A file that is missing is empty."""
    try:
        with Path(path).open("rb") as file:
            data = file.read(_MAX_BYTES + 1)
        loaded = yaml.safe_load(data.decode("utf-8")) if len(data) <= _MAX_BYTES else None
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise ClusterError(f"{path} cannot be read: {error.strerror or error}") from error
    except (UnicodeDecodeError, yaml.YAMLError, RecursionError) as error:
        raise ClusterError(f"{path} is not readable YAML") from error
    if len(data) > _MAX_BYTES:
        raise ClusterError(f"{path} is larger than {_MAX_BYTES // 1024 // 1024} MiB")
    if loaded is None:
        return {}
    if not isinstance(loaded, Mapping):
        raise ClusterError(f"{path} is not a kubeconfig")
    return loaded


def _list_named(loaded: Mapping[str, Any], section: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    entries = loaded.get(section)
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, Mapping) and entry.get("name"):
            inner = entry.get(_SECTIONS[section])
            yield str(entry["name"]), inner if isinstance(inner, Mapping) else {}


class _Merged:
    """The files as one: names of each section with their file, and the current context."""

    def __init__(self) -> None:
        self.current = ""
        self.found: dict[str, dict[str, tuple[Mapping[str, Any], str]]] = {section: {} for section in _SECTIONS}

    def add(self, path: str, loaded: Mapping[str, Any]) -> None:
        """Add a file; what an earlier file named stays."""
        current = loaded.get("current-context")
        self.current = self.current or (current if isinstance(current, str) else "")
        for section, named in self.found.items():
            for name, inner in _list_named(loaded, section):
                named.setdefault(name, (inner, path))

    def get(self, section: str, name: object) -> Mapping[str, Any] | None:
        """Return one entry by its name."""
        entry = self.found[section].get(str(name)) if name else None
        return entry[0] if entry else None

    def as_node(self) -> ConfigNode:
        """Return the form that the `kubernetes` client reads; each entry knows its file, for relative paths."""
        value: dict[str, Any] = {"current-context": self.current}
        for section, named in self.found.items():
            value[section] = [
                ConfigNode(f"{path}/{name}", {"name": name, _SECTIONS[section]: dict(inner)}, path)  # type: ignore[no-untyped-call]
                for name, (inner, path) in named.items()
            ]
        return ConfigNode("kubeconfig", value, "")  # type: ignore[no-untyped-call]  # the client has incomplete types


def _merge(paths: Sequence[str]) -> tuple[_Merged, tuple[str, ...]]:
    merged, problems = _Merged(), []
    for path in paths:
        try:
            merged.add(path, _read_file(path))
        except ClusterError as error:
            problems.append(str(error))
    return merged, tuple(problems)


def _show_server(cluster: Mapping[str, Any]) -> str:
    """Return the address without user, query and fragment: a URL may contain a token."""
    server = cluster.get("server")
    try:
        parts = urlsplit(server if isinstance(server, str) else "")
        host = parts.hostname or ""
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return ""
    return f"{parts.scheme}://{f'[{host}]' if ':' in host else host}{port}{parts.path.rstrip('/')}" if host else ""


def _find_problem(context: Mapping[str, Any], merged: _Merged) -> str:
    cluster, user = (merged.get(section, context.get(inner)) for section, inner in list(_SECTIONS.items())[1:])
    if cluster is None:
        return "its cluster is not in the kubeconfig"
    if user is None:
        return "its user is not in the kubeconfig"
    if not _show_server(cluster):
        return "its cluster has no server address"
    found = next((name for name in _IMPERSONATION if user.get(name)), "")
    return f"it impersonates (`{found}`), which is not followed" if found else ""


def _describe(name: str, merged: _Merged) -> OwnContext:
    context = merged.get("contexts", name) or {}
    cluster, user = merged.get("clusters", context.get("cluster")), merged.get("users", context.get("user"))
    plugin = (user or {}).get("exec")
    command = plugin.get("command") if isinstance(plugin, Mapping) else None
    return OwnContext(
        name=name,
        server=_show_server(cluster or {}),
        namespace=str(context.get("namespace") or ""),
        plugin=Path(command).name if isinstance(command, str) else "",
        is_current=name == merged.current,
        problem=_find_problem(context, merged),
    )


def list_contexts(given: str = "") -> OwnKubeconfig:
    """Return the contexts of this machine's kubeconfig, by name. Runs no plugin and opens no connection."""
    paths = find_paths(given)
    merged, problems = _merge(paths)
    contexts = tuple(_describe(name, merged) for name in sorted(merged.found["contexts"]))
    return OwnKubeconfig(contexts, paths, problems)


class _Loader(KubeConfigLoader):
    """The client's loader; a plugin that fails raises a sentence, instead of a line in the log and no credential.

    - `folder` holds the client certificate that a plugin returned; None without one.
    """

    folder: tempfile.TemporaryDirectory[str] | None = None

    def _load_from_exec_plugin(self) -> bool | None:
        user, cluster = cast("ConfigNode", self._user), cast("ConfigNode", self._cluster)
        taken = user.value.get("exec")
        if taken is None:
            return None
        found = run_plugin(taken, folder=str(Path(str(user.path)).parent), cluster=cluster.value)
        if found.token:
            self.token = f"Bearer {found.token}"
        if found.certificate:
            self.folder = tempfile.TemporaryDirectory(prefix="applyviz-")
            self.cert_file, self.key_file = found.write_certificate(Path(self.folder.name))
        self.expiry = found.expires_at
        return True


def load_context(
    context: str = "", *, given: str = ""
) -> tuple[client.Configuration, tempfile.TemporaryDirectory[str] | None]:
    """Return the connection settings of a context ("": the current one) and its private folder; runs its plugin.

    - Raises `ClusterError` with a sentence for what the files, the context or the plugin lack.
    - Rule: kubectl impersonates as the kubeconfig says. The client would ignore that and send requests with more
      rights, so such a context is refused.
    """
    merged, problems = _merge(find_paths(given))
    name = context or merged.current
    known = merged.get("contexts", name)
    if known is None:
        missing = f"there is no context {name}" if name else "no context is chosen (`current-context`)"
        raise ClusterError(f"the kubeconfig of this machine cannot be used: {'; '.join((*problems, missing))}")
    problem = _find_problem(known, merged)
    if problem:
        raise ClusterError(f"the context {name} of this machine cannot be used: {problem}")
    made = client.Configuration()
    try:
        loader = _Loader(config_dict=merged.as_node(), active_context=name, config_base_path=None)  # type: ignore[no-untyped-call]
        loader.load_and_set(made)  # type: ignore[no-untyped-call]
    except (config.ConfigException, OSError, ValueError, TypeError, KeyError) as error:
        raise ClusterError(f"the context {name} of this machine cannot be used: {error}") from error
    return made, loader.folder
