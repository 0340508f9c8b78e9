"""The kOps channel of the demo: kOps applied its addons before, and recorded each on its namespace."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from applyviz.engine.channels.choosing import hash_manifest
from applyviz.engine.channels.model import KOPS_MANAGER, Addon, ChannelPlan
from applyviz.engine.channels.reading import read_addons, take_channel_apart
from applyviz.engine.manifests.parse import parse_manifests
from applyviz.engine.objects.exchange import APPLY_PATCH, MERGE_PATCH, Request
from applyviz.engine.objects.structs import replace
from applyviz.engine.requests.calls import read_namespace
from applyviz.engine.schema.builtin import bundled

CHANNEL = "bootstrap-channel.yaml"


def _list_addons(channel: Mapping[str, bytes]) -> tuple[Addon, ...]:
    document = take_channel_apart(parse_manifests(channel[CHANNEL], CHANNEL)).channel
    return () if document is None else read_addons(document)[0]


def _list_applies(name: str, data: bytes) -> Iterator[Request]:
    query = {"fieldManager": KOPS_MANAGER, "force": "true"}
    for document in parse_manifests(data, name).documents:
        resource = bundled().find_resource(document.ref.gvk)
        if resource is not None:
            path = resource.path(document.ref.namespace, document.ref.name)
            yield Request("PATCH", path, query, APPLY_PATCH, document.obj, document.ref)


def list_requests(installed: Mapping[str, bytes], channel: Mapping[str, bytes]) -> Iterator[Request]:
    """Yield the requests with which kOps installed the addons of a channel from other manifests of the same names."""
    for addon in _list_addons(channel):
        data = installed.get(addon.file)
        if data is None:
            continue
        yield from _list_applies(addon.file, data)
        recorded = ChannelPlan(CHANNEL, CHANNEL).write_record(replace(addon, manifest_hash=hash_manifest(data)))
        body = {"metadata": {"annotations": {addon.annotation: recorded}}}
        path = read_namespace(addon.namespace).path
        yield Request("PATCH", path, {"fieldManager": KOPS_MANAGER}, MERGE_PATCH, body)
