"""The kubeconfig of this machine: its contexts, merged as kubectl merges them.

The files are those of `KUBECONFIG`, else `~/.kube/config`: missing files are left out, and the first file that names a
context, cluster, user or current context wins. Only the files are read: `own_connection` connects to a context.
Rule: https://kubernetes.io/docs/concepts/configuration/organize-cluster-access-kubeconfig/.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from urllib.parse import urlsplit

import yaml
from msgspec import Struct

from applyviz.engine.objects.errors import ClusterError
from applyviz.engine.objects.values import JSONObject

_MAX_BYTES = 4 * 1024 * 1024
# PyYAML raises these besides `YAMLError`: for a date that does not exist, or for `!!bool` before another text.
_UNREADABLE = (ValueError, LookupError, ArithmeticError, AttributeError, RecursionError)
_IMPERSONATION = ("as", "as-uid", "as-groups", "as-user-extra")
SECTIONS = {"contexts": "context", "clusters": "cluster", "users": "user"}


class OwnContext(Struct, frozen=True):
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


class OwnKubeconfig(Struct, frozen=True):
    """All contexts of this machine, the files that were looked for, and what could not be read."""

    contexts: tuple[OwnContext, ...]
    paths: tuple[str, ...]
    problems: tuple[str, ...] = ()


def find_paths(given: str = "") -> tuple[str, ...]:
    """Return the absolute paths of the files: those given, else of `KUBECONFIG`, else `~/.kube/config`."""
    listed = given or os.environ.get("KUBECONFIG", "")
    names = [name for name in listed.split(os.pathsep) if name] or ["~/.kube/config"]
    return tuple(dict.fromkeys(str(Path(name).expanduser().absolute()) for name in names))


def _read_file(path: str) -> JSONObject:
    """Return the content of one file; raises `ClusterError` with a sentence. A file that is missing is empty."""
    try:
        with Path(path).open("rb") as file:
            data = file.read(_MAX_BYTES + 1)
        loaded = yaml.safe_load(data.decode("utf-8")) if len(data) <= _MAX_BYTES else None
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise ClusterError(f"{path} cannot be read: {error.strerror or error}") from error
    except (*_UNREADABLE, yaml.YAMLError) as error:
        raise ClusterError(f"{path} is not readable YAML") from error
    if len(data) > _MAX_BYTES:
        raise ClusterError(f"{path} is larger than {_MAX_BYTES // 1024 // 1024} MiB")
    if loaded is None:
        return {}
    if not isinstance(loaded, Mapping):
        raise ClusterError(f"{path} is not a kubeconfig")
    return loaded


def _list_named(loaded: JSONObject, section: str) -> Iterator[tuple[str, JSONObject]]:
    entries = loaded.get(section)
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, Mapping) and entry.get("name"):
            inner = entry.get(SECTIONS[section])
            yield str(entry["name"]), inner if isinstance(inner, Mapping) else {}


class MergedKubeconfig:
    """The files as one: names of each section with their file, and the current context."""

    def __init__(self) -> None:
        self.current = ""
        self.found: dict[str, dict[str, tuple[JSONObject, str]]] = {section: {} for section in SECTIONS}

    def add(self, path: str, loaded: JSONObject) -> None:
        """Add a file; what an earlier file named stays."""
        current = loaded.get("current-context")
        self.current = self.current or (current if isinstance(current, str) else "")
        for section, named in self.found.items():
            for name, inner in _list_named(loaded, section):
                named.setdefault(name, (inner, path))

    def get(self, section: str, name: object) -> JSONObject | None:
        """Return one entry by its name."""
        entry = self.found[section].get(str(name)) if name else None
        return entry[0] if entry else None


def merge_files(paths: Sequence[str]) -> tuple[MergedKubeconfig, tuple[str, ...]]:
    """Return the files as one, and what could not be read."""
    merged, problems = MergedKubeconfig(), []
    for path in paths:
        try:
            merged.add(path, _read_file(path))
        except ClusterError as error:
            problems.append(str(error))
    return merged, tuple(problems)


def _show_server(cluster: JSONObject) -> str:
    """Return the address without user, query and fragment: a URL may contain a token."""
    server = cluster.get("server")
    try:
        parts = urlsplit(server if isinstance(server, str) else "")
        host = parts.hostname or ""
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return ""
    return f"{parts.scheme}://{f'[{host}]' if ':' in host else host}{port}{parts.path.rstrip('/')}" if host else ""


def find_problem(context: JSONObject, merged: MergedKubeconfig) -> str:
    """Return why a context cannot be used, as a sentence; "" if it can."""
    cluster, user = (merged.get(section, context.get(inner)) for section, inner in list(SECTIONS.items())[1:])
    if cluster is None:
        return "its cluster is not in the kubeconfig"
    if user is None:
        return "its user is not in the kubeconfig"
    if not _show_server(cluster):
        return "its cluster has no server address"
    found = next((name for name in _IMPERSONATION if user.get(name)), "")
    return f"it impersonates (`{found}`), which is not followed" if found else ""


def _describe(name: str, merged: MergedKubeconfig) -> OwnContext:
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
        problem=find_problem(context, merged),
    )


def list_contexts(given: str = "") -> OwnKubeconfig:
    """Return the contexts of this machine's kubeconfig, by name. Runs no plugin and opens no connection."""
    paths = find_paths(given)
    merged, problems = merge_files(paths)
    contexts = tuple(_describe(name, merged) for name in sorted(merged.found["contexts"]))
    return OwnKubeconfig(contexts, paths, problems)
