"""A small kOps channel for tests: addons that write one ConfigMap each, and one that prunes."""

from __future__ import annotations

from collections.abc import Mapping

import yaml

from applyviz.engine.channels.choosing import hash_manifest

RECORDS = "/api/v1/namespaces/kube-system"


def config(name: str, value: str = "1", **labels: str) -> str:
    """A ConfigMap of an addon."""
    metadata = {"name": name, "namespace": "kube-system", **({"labels": labels} if labels else {})}
    return yaml.safe_dump({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"value": value}})


def addon(name: str, manifest: str, **more: object) -> dict[str, object]:
    """An entry of a channel with the right hash of its manifest."""
    hashed = {"manifestHash": hash_manifest(manifest.encode())}
    return {"name": name, "manifest": f"{name}/v1.yaml", **hashed, **more}


def pruning(kind: str = "ConfigMap", **more: object) -> dict[str, object]:
    """Return the prune rule of an entry: the kind, by the label of the addon."""
    return {"kinds": [{"kind": kind, "labelSelector": "addon=web", "namespaces": ["kube-system"], **more}]}


def channel(files: Mapping[str, str], entries: list[dict[str, object]]) -> dict[str, str]:
    """The files of a source: the channel and the manifests of its addons."""
    text = yaml.safe_dump({"kind": "Addons", "metadata": {"name": "bootstrap"}, "spec": {"addons": entries}})
    return {"bootstrap-channel.yaml": text, **{f"{name}/v1.yaml": content for name, content in files.items()}}


def simple(version: str = "1", **more: Mapping[str, object]) -> dict[str, str]:
    """A channel of the addons dns and web; `more` adds to their entries."""
    files = {
        "dns": config("dns", version),
        "web": config("web", version, addon="web") + "---\n" + config(f"web-{version}", version, addon="web"),
    }
    entries = [addon(name, text, **{"id": "k8s-1.30", **more.get(name, {})}) for name, text in files.items()]
    return channel(files, entries)
