"""Read uploaded kubeconfigs: only the server address and the proofs of identity are used; the rest is refused.

A kubeconfig is code: `exec` and `auth-provider` run commands, `tokenFile` and the file paths read this machine's files,
`proxy-url` sends credentials elsewhere, `insecure-skip-tls-verify` skips the proof. Each is refused with its reason,
all at once. The file is never passed to a loader that would execute it. Rule:
https://kubernetes.io/docs/reference/config-api/kubeconfig.v1/.
"""

from __future__ import annotations

import base64
import binascii
import re
import socket
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import urlsplit

import yaml
from msgspec import Struct
from msgspec.structs import asdict

from applyviz.engine.objects.errors import ApplyVizError
from applyviz.engine.objects.values import JSONValue
from applyviz.sources.addresses import find_link_local

MAX_BYTES = 512 * 1024
_MAX_DEPTH = 32
_TOO_DEEP = "the file is nested too deeply for a kubeconfig"
MAX_VALUES = 20_000
"""Far more than tools write; a file of few bytes for each value takes as long to read as it has values."""
# YAML 1.1 reads `1:20:30` as a number in base 60: the time for it grows with the square of its parts.
_MANY_PARTS = re.compile(r"[-+]?[0-9][0-9_]*(?::[0-9]+){9}")
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the C one where it is built
# What a header and TLS can carry: anything else fails only when the first request is sent.
_TOKEN = re.compile(r"[!-~]*")
_LABELS = re.compile(r"(?=.{1,253}\Z)[A-Za-z0-9_-]{1,63}(?:\.[A-Za-z0-9_-]{1,63})*")
_CLUSTER_TAKEN = frozenset({"server", "certificate-authority-data", "tls-server-name", "extensions"})
_USER_TAKEN = frozenset({"token", "client-certificate-data", "client-key-data", "extensions"})
_REASONS = {
    "exec": "it runs a command on this machine",
    "auth-provider": "it runs a login plugin on this machine",
    "tokenFile": "it reads a file of this machine; put the token itself in `token`",
    "certificate-authority": "it reads a file of this machine; put its content in `certificate-authority-data`",
    "client-certificate": "it reads a file of this machine; put its content in `client-certificate-data`",
    "client-key": "it reads a file of this machine; put its content in `client-key-data`",
    "proxy-url": "it would send the credential through another host",
    "insecure-skip-tls-verify": "the server would not have to prove who it is",
    "username": "basic authentication was removed from Kubernetes",
    "password": "basic authentication was removed from Kubernetes",
    "as": "impersonation is not taken from an upload",
    "as-uid": "impersonation is not taken from an upload",
    "as-groups": "impersonation is not taken from an upload",
    "as-user-extra": "impersonation is not taken from an upload",
}


@dataclass(eq=False)
class KubeconfigError(ApplyVizError):
    """An uploaded kubeconfig cannot be used; lists every reason."""

    reasons: tuple[str, ...]

    def __str__(self) -> str:
        return "; ".join(self.reasons)


class Credential(Struct, frozen=True):
    """The used parts of one context: the server, and the proof of each side. Never printed."""

    server: str
    ca_data: str = ""
    tls_server_name: str = ""
    token: str = ""
    client_certificate_data: str = ""
    client_key_data: str = ""
    namespace: str = ""

    def __repr__(self) -> str:
        return f"Credential(server={self.server!r}, …)"

    def to_json(self) -> dict[str, str]:
        """Return the credential in the form that is sealed."""
        return asdict(self)


def _named(config: Mapping[str, JSONValue], section: str, name: JSONValue) -> JSONValue:
    entries = config.get(section)
    inner = section.removesuffix("s")
    for entry in entries if isinstance(entries, list) else []:
        if isinstance(entry, Mapping) and entry.get("name") == name:
            return entry.get(inner)
    return None


def _refusals(where: str, given: Mapping[str, JSONValue], taken: frozenset[str]) -> list[str]:
    found = []
    for name, value in given.items():
        if name in taken or value in (None, "", False, [], {}):
            continue
        found.append(f"{where}: `{name}` is refused: {_REASONS.get(str(name), 'it is not a field that is taken')}")
    return found


def _check_server(server: str) -> list[str]:
    try:
        parts = urlsplit(server)
        # The resolver encodes a name in this way, and fails at an empty or a long label.
        has_host, _ = bool((parts.hostname or "").encode("idna")), parts.port
    except ValueError:
        return ["cluster: `server` is not a URL"]
    if parts.scheme != "https" or not has_host:
        return ["cluster: `server` must be an https URL"]
    if parts.username or parts.password or parts.query or parts.fragment:
        return ["cluster: `server` must be plain: no user, query or fragment"]
    return list(_check_host(parts.hostname or ""))


def _check_host(host: str) -> Iterator[str]:
    """Yield a problem for an address without a router, in any spelling that the system's resolver accepts."""
    try:
        found = socket.getaddrinfo(host, None, flags=socket.AI_NUMERICHOST)
    except (OSError, UnicodeError):
        return  # a name: the connection checks the address that it resolves to
    if find_link_local(str(entry[4][0]) for entry in found):
        yield "cluster: `server` is a link-local address or a metadata service of a cloud; no cluster is there"


def _is_name(text: str) -> bool:
    """Return whether TLS can ask for a name: labels of a host name, or an address; "" asks for that of the server."""
    try:
        return not text or bool(_LABELS.fullmatch(text) or ip_address(text))
    except ValueError:
        return False


def _check_data(where: str, name: str, text: str) -> list[str]:
    if not text:
        return []
    try:
        decoded = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return [f"{where}: `{name}` is not base64"]
    return [] if b"-----BEGIN " in decoded else [f"{where}: `{name}` holds no PEM block"]


def _check_shape(text: str) -> None:
    """Refuse YAML that turns a small file into a huge value; no tool writes it into a kubeconfig."""
    depth = values = 0
    for event in yaml.parse(text, Loader=_LOADER):
        if isinstance(event, yaml.AliasEvent):
            raise KubeconfigError(("YAML aliases are refused in a kubeconfig",))
        if getattr(event, "tag", None):
            raise KubeconfigError(("YAML tags are refused in a kubeconfig",))
        if isinstance(event, yaml.ScalarEvent) and event.implicit[0] and _MANY_PARTS.match(event.value):
            raise KubeconfigError(("a number of many parts, as in 1:20:30, is refused in a kubeconfig",))
        values += isinstance(event, yaml.NodeEvent)
        if values > MAX_VALUES:
            raise KubeconfigError((f"the file has more than {MAX_VALUES:,} values",))
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _MAX_DEPTH:
            raise KubeconfigError((_TOO_DEEP,))


def _load(data: bytes) -> Mapping[str, JSONValue]:
    if len(data) > MAX_BYTES:
        raise KubeconfigError((f"the file is larger than {MAX_BYTES // 1024} KiB",))
    try:
        text = data.decode("utf-8")
        _check_shape(text)
        config = yaml.load(text, Loader=_LOADER)  # noqa: S506 - a safe loader
    except (UnicodeDecodeError, yaml.YAMLError, ValueError, RecursionError) as error:
        is_deep = "nesting depth" in str(error)  # the C parser has its own limit
        raise KubeconfigError((_TOO_DEEP if is_deep else "the file is not readable YAML",)) from error
    if not isinstance(config, Mapping) or config.get("kind") not in (None, "Config"):
        raise KubeconfigError(("the file is not a kubeconfig (kind: Config)",))
    return config


def _text(given: Mapping[str, JSONValue], name: str) -> str:
    value = given.get(name)
    return value if isinstance(value, str) else ""


def _check(cluster: Mapping[str, JSONValue], user: Mapping[str, JSONValue]) -> list[str]:
    reasons = _refusals("cluster", cluster, _CLUSTER_TAKEN) + _refusals("user", user, _USER_TAKEN)
    reasons += _check_server(_text(cluster, "server"))
    reasons += _check_data("cluster", "certificate-authority-data", _text(cluster, "certificate-authority-data"))
    for name in ("client-certificate-data", "client-key-data"):
        reasons += _check_data("user", name, _text(user, name))
    if not _TOKEN.fullmatch(_text(user, "token")):
        reasons.append("user: `token` must be one line of printable ASCII without blanks")
    if not _is_name(_text(cluster, "tls-server-name")):
        reasons.append("cluster: `tls-server-name` must be a host name or an address")
    if bool(_text(user, "client-certificate-data")) != bool(_text(user, "client-key-data")):
        reasons.append("user: a client certificate needs its key, and the key its certificate")
    if not _text(user, "token") and not _text(user, "client-certificate-data"):
        reasons.append("user: there is neither a token nor a client certificate")
    return reasons


def read_kubeconfig(data: bytes, *, context: str = "") -> Credential:
    """Return the credential of one context of an upload ("": the current one).

    - Raises `KubeconfigError` with every reason at once.
    """
    config = _load(data)
    name = context or config.get("current-context")
    chosen = _named(config, "contexts", name)
    if not isinstance(chosen, Mapping):
        raise KubeconfigError((f"there is no context {name!r}" if name else "no context is named",))
    cluster = _named(config, "clusters", chosen.get("cluster"))
    user = _named(config, "users", chosen.get("user"))
    missing = [
        f"context {name!r} names a {what} that is not there"
        for what, value in (("cluster", cluster), ("user", user))
        if not isinstance(value, Mapping)
    ]
    if missing or not isinstance(cluster, Mapping) or not isinstance(user, Mapping):
        raise KubeconfigError(tuple(missing))
    reasons = _check(cluster, user)
    if reasons:
        raise KubeconfigError(tuple(reasons))
    return Credential(
        server=_text(cluster, "server").rstrip("/"),
        ca_data=_text(cluster, "certificate-authority-data"),
        tls_server_name=_text(cluster, "tls-server-name"),
        token=_text(user, "token"),
        client_certificate_data=_text(user, "client-certificate-data"),
        client_key_data=_text(user, "client-key-data"),
        namespace=_text(chosen, "namespace"),
    )
