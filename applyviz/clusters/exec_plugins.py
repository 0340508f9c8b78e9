"""Run the credential plugin (`exec`) of this machine's own kubeconfig, with a deadline and without a terminal.

Only `own_connection` calls this: the plugin is a command that the person chose for their own machine. An uploaded
kubeconfig never reaches it. Rule: https://kubernetes.io/docs/reference/access-authn-authz/authentication/
#client-go-credential-plugins (ExecCredential, in and out).
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from applyviz.engine.objects.errors import ClusterError
from applyviz.engine.objects.values import JSONObject, MutableObject

PLUGIN_SECONDS = 30.0
_GROUP = "client.authentication.k8s.io/"
_VERSIONS = tuple(_GROUP + version for version in ("v1", "v1beta1"))
_MOST_TEXT = 2000


class PluginCredential(Struct, frozen=True):
    """The answer of a plugin: a token, or a client certificate with its key. Never printed."""

    token: str = ""
    certificate: str = ""
    key: str = ""
    expires_at: str = "9999-12-31T23:59:59Z"

    def __repr__(self) -> str:
        return "PluginCredential(…)"

    def write_certificate(self, folder: Path) -> tuple[str, str]:
        """Write certificate and key to files of a private folder, because TLS reads only files; return both paths."""
        paths = folder / "tls.crt", folder / "tls.key"
        for path, text in zip(paths, (self.certificate, self.key), strict=True):
            path.touch(mode=0o600)
            path.write_text(text, encoding="utf-8")
        return str(paths[0]), str(paths[1])


def _find_command(given: JSONObject, folder: str) -> list[str]:
    """Return command and arguments; a relative path with a separator is relative to the kubeconfig's folder."""
    command, arguments = given.get("command"), given.get("args") or []
    if not isinstance(command, str) or not command or not isinstance(arguments, list):
        raise ClusterError("The credential plugin of the kubeconfig names no command.")
    if os.sep in command and not Path(command).is_absolute():
        command = str(Path(folder) / command)
    return [command, *(str(argument) for argument in arguments)]


def _build_environment(given: JSONObject, version: str, cluster: JSONObject) -> dict[str, str]:
    """Return the plugin's environment: this process's without applyviz's own settings, and the kubeconfig's."""
    spec: MutableObject = {"interactive": False}
    if given.get("provideClusterInfo"):
        spec["cluster"] = {name: value for name, value in cluster.items() if name != "extensions"}
    made = {name: value for name, value in os.environ.items() if not name.startswith("APPLYVIZ_")}
    for entry in given.get("env") or []:
        if isinstance(entry, Mapping) and entry.get("name"):
            made[str(entry["name"])] = str(entry.get("value", ""))
    made["KUBERNETES_EXEC_INFO"] = json.dumps({"apiVersion": version, "kind": "ExecCredential", "spec": spec})
    return made


def _run(command: list[str], environment: dict[str, str], hint: str, seconds: float) -> str:
    """Return the output of the plugin; end it and its children at the deadline."""
    name = Path(command[0]).name
    try:
        process = subprocess.Popen(  # noqa: S603 - the person's own plugin, on the person's own machine
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except FileNotFoundError as error:
        text = f"The credential plugin {name} is not installed, or not on the PATH of applyviz. Install it, then retry."
        raise ClusterError(text, detail=hint) from error
    except OSError as error:
        raise ClusterError(f"The credential plugin {name} cannot be started: {error.strerror or error}.") from error
    try:
        output, errors = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired as error:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        text = f"The credential plugin {name} did not finish within {seconds:.0f} s. Sign in with kubectl, then retry."
        raise ClusterError(text) from error
    if process.returncode:
        text = (
            f"The credential plugin {name} failed (exit code {process.returncode}). Sign in with kubectl, then retry."
        )
        raise ClusterError(text, detail=errors.decode(errors="replace").strip()[:_MOST_TEXT])
    return output.decode(errors="replace")


def _read_answer(name: str, output: str) -> PluginCredential:
    try:
        answer = json.loads(output)
        status = answer["status"]
        token, certificate = status.get("token") or "", status.get("clientCertificateData") or ""
        key, expires_at = status.get("clientKeyData") or "", status.get("expirationTimestamp") or ""
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ClusterError(f"The credential plugin {name} did not answer with an ExecCredential.") from error
    if not all(isinstance(text, str) for text in (token, certificate, key, expires_at)):
        raise ClusterError(f"The credential plugin {name} did not answer with an ExecCredential.")
    if not token and not (certificate and key):
        raise ClusterError(f"The credential plugin {name} returned neither a token nor a client certificate.")
    found = PluginCredential(token, certificate, key)
    return PluginCredential(token, certificate, key, expires_at) if expires_at else found


def run_plugin(
    given: JSONObject, *, folder: str, cluster: JSONObject, seconds: float = PLUGIN_SECONDS
) -> PluginCredential:
    """Run the plugin of one user of a kubeconfig and return its credential.

    - Raises `ClusterError` with a sentence that says what to do; `detail` holds the plugin's own words.
    """
    version = given.get("apiVersion")
    if version not in _VERSIONS:
        raise ClusterError(f"The credential plugin speaks {version or 'no version'}; applyviz speaks {_VERSIONS[0]}.")
    command = _find_command(given, folder)
    name = Path(command[0]).name
    if given.get("interactiveMode") == "Always":
        raise ClusterError(f"The credential plugin {name} needs a terminal, and applyviz has none.")
    hint = given.get("installHint")
    output = _run(
        command,
        _build_environment(given, str(version), cluster),
        hint[:_MOST_TEXT] if isinstance(hint, str) else "",
        seconds,
    )
    return _read_answer(name, output)
