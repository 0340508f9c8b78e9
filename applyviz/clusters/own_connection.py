"""The connection of one context of this machine's kubeconfig, read by the `kubernetes` client.

Loading a context may run its credential plugin (`exec`) as the user of this process, so only callers on a personal
installation, or commands on this machine, may load one.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any, cast

from kubernetes import client, config
from kubernetes.config.kube_config import ConfigNode, KubeConfigLoader, _is_expired

from applyviz.clusters.exec_plugins import run_plugin
from applyviz.clusters.own_kubeconfig import SECTIONS, MergedKubeconfig, find_paths, find_problem, merge_files
from applyviz.engine.objects.errors import ClusterError
from applyviz.engine.objects.values import MutableObject


def _write_node(merged: MergedKubeconfig) -> ConfigNode:
    """Return the form that the `kubernetes` client reads; each entry knows its file, for relative paths."""
    value: MutableObject = {"current-context": merged.current}
    for section, named in merged.found.items():
        value[section] = [
            ConfigNode(f"{path}/{name}", {"name": name, SECTIONS[section]: dict(inner)}, path)
            for name, (inner, path) in named.items()
        ]
    return ConfigNode("kubeconfig", value, "")


class _Loader(KubeConfigLoader):  # type: ignore[misc]  # the client brings no types
    """The client's loader; a plugin that fails raises a sentence, instead of a line in the log and no credential.

    - `folder` holds the client certificate that a plugin returned; None without one.
    - The client sets every setting again before every request, proxies of the environment included, which is a fifth of
      the cost of a request. Here it does so only when the credential has expired: nothing else changes meanwhile.
    """

    folder: tempfile.TemporaryDirectory[str] | None = None

    def _set_config(self, client_configuration: Any) -> None:
        super()._set_config(client_configuration)
        renew = client_configuration.refresh_api_key_hook

        def renew_expired(configuration: client.Configuration) -> None:
            expiry = vars(self).get("expiry")
            if expiry is not None and _is_expired(expiry):
                renew(configuration)

        client_configuration.refresh_api_key_hook = renew and renew_expired

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
    merged, problems = merge_files(find_paths(given))
    name = context or merged.current
    known = merged.get("contexts", name)
    if known is None:
        missing = f"there is no context {name}" if name else "no context is chosen (`current-context`)"
        raise ClusterError(f"the kubeconfig of this machine cannot be used: {'; '.join((*problems, missing))}")
    problem = find_problem(known, merged)
    if problem:
        raise ClusterError(f"the context {name} of this machine cannot be used: {problem}")
    made = client.Configuration()
    try:
        loader = _Loader(config_dict=_write_node(merged), active_context=name, config_base_path=None)
        loader.load_and_set(made)
    except (config.ConfigException, OSError, ValueError, TypeError, KeyError) as error:
        raise ClusterError(f"the context {name} of this machine cannot be used: {error}") from error
    return made, loader.folder
