"""Warnings that several kinds share: node labels, addresses, fractional bytes.

Rule: `pkg/api/node/util.go` of k8s.io/kubernetes and `pkg/util/validation/ip.go` of k8s.io/apimachinery, v1.36.3.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Mapping
from contextlib import suppress

from applyviz.engine.objects.quantities import canonical_quantity
from applyviz.engine.objects.values import JSONObject
from applyviz.kubernetes.parity.resources_math import has_fraction

ALL_WARNINGS, CUT_WARNING = 4096, 256
"""How many characters of all warnings a server sends, and of each one if they have more together."""
MOST_COMPARED = 100
"""Of the ports of a number and the files of a volume, so many are compared with all later ones."""
NODE_LABELS: Mapping[str, str] = {
    "beta.kubernetes.io/arch": 'deprecated since v1.14; use "kubernetes.io/arch" instead',
    "beta.kubernetes.io/os": 'deprecated since v1.14; use "kubernetes.io/os" instead',
    "failure-domain.beta.kubernetes.io/region": 'deprecated since v1.17; use "topology.kubernetes.io/region" instead',
    "failure-domain.beta.kubernetes.io/zone": 'deprecated since v1.17; use "topology.kubernetes.io/zone" instead',
    "beta.kubernetes.io/instance-type": 'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead',
    "app.kubernetes.io/created-by": "deprecated since v1.9",
    "scheduler.alpha.kubernetes.io/preferAvoidPods": "deprecated since v1.22; use Taints and Tolerations instead",
    "node-role.kubernetes.io/master": 'use "node-role.kubernetes.io/control-plane" instead',
}
"""What to use in place of a deprecated label of nodes."""
VOLUME_SOURCES: Mapping[str, str] = {
    "photonPersistentDisk": "deprecated in v1.11, non-functional in v1.16+",
    "scaleIO": "deprecated in v1.16, non-functional in v1.22+",
    "flocker": "deprecated in v1.22, non-functional in v1.25+",
    "storageos": "deprecated in v1.22, non-functional in v1.25+",
    "quobyte": "deprecated in v1.22, non-functional in v1.25+",
    "glusterfs": "deprecated in v1.25, non-functional in v1.26+",
    "cephfs": "deprecated in v1.28, non-functional in v1.31+",
    "rbd": "deprecated in v1.28, non-functional in v1.31+",
}
"""Deprecated sources of volumes."""
_SHOWN = {"storageos": "storageOS"}


def warn_of_sources(volume: JSONObject, path: str) -> Iterator[str]:
    """Yield the deprecated sources of a volume; the path ends with a dot."""
    for name, message in VOLUME_SOURCES.items():
        if volume.get(name) is not None:
            yield f"{path}{_SHOWN.get(name, name)}: {message}"


def warn_of_term(term: JSONObject, path: str) -> Iterator[str]:
    """Yield the deprecated labels of a term that selects nodes."""
    for position, expression in enumerate(term.get("matchExpressions") or ()):
        key = expression.get("key", "")
        if key in NODE_LABELS:
            yield f"{path}.matchExpressions[{position}].key: {key} is {NODE_LABELS[key]}"


def warn_of_bytes(amounts: JSONObject | None, path: str, names: tuple[str, ...]) -> Iterator[str]:
    """Yield amounts of bytes that are no whole numbers."""
    for name in names:
        sent = str((amounts or {}).get(name, "0"))
        if has_fraction(sent):
            text = canonical_quantity(sent)
            yield f'{path}[{name}]: fractional byte value "{text}" is invalid, must be an integer'


def warn_of_address(text: str, path: str) -> Iterator[str]:
    """Yield an IPv6 address that is not in its usual form; validation refuses addresses of other odd forms."""
    with suppress(ValueError):
        address = ipaddress.ip_address(text)
        if address.version == 6 and str(address) != text:
            yield f'{path}: IPv6 address "{text}" should be in RFC 5952 canonical format ("{address}")'


def warn_of_network(text: str, path: str) -> Iterator[str]:
    """Yield an IPv6 network that is not in its usual form; validation refuses networks of other odd forms."""
    with suppress(ValueError):
        network = ipaddress.ip_network(text)
        if network.version == 6 and str(network) != text:
            yield f'{path}: IPv6 CIDR value "{text}" should be in RFC 5952 canonical format ("{network}")'
