"""Reconstruct the JSON of protobuf bodies from what the story shows later.

A recording keeps such a body as text, without the bytes that are not text. The created object is read from the first
JSON answer that shows it; without one, only kind and name are known.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from applyviz.conformance.stories import Story, StoryExchange
from applyviz.engine.objects.values import JSONObject, MutableObject

_ENVELOPE = re.compile(r"k8s\x00\n.\n.([a-z0-9./]+)\x12.([A-Za-z]+)", re.DOTALL)
_NAME = re.compile(r"\n.([a-z0-9][-a-z0-9.]*)\x12", re.DOTALL)
_SERVER_FIELDS = frozenset(
    {
        *("uid", "resourceVersion", "creationTimestamp", "managedFields", "generation", "namespace", "selfLink"),
        *("deletionTimestamp", "deletionGracePeriodSeconds"),
    }
)


def _answers_after(exchange: StoryExchange, story: Story) -> Iterator[JSONObject]:
    is_after = False
    for step in story.steps:
        for other in step.exchanges:
            if is_after and isinstance(other.answer.body, Mapping):
                yield other.answer.body
                yield from other.answer.body.get("items") or ()
            is_after = is_after or other is exchange


def guess_body(exchange: StoryExchange, story: Story) -> MutableObject:
    """Return the object that a protobuf body created."""
    envelope = _ENVELOPE.search(exchange.text)
    if envelope is None:
        return {}
    api_version, kind = envelope.groups()
    named = _NAME.search(exchange.text, envelope.end())
    name = named.group(1) if named else ""
    for obj in _answers_after(exchange, story):
        meta = obj.get("metadata") or {}
        if obj.get("kind", kind) == kind and meta.get("name") == name and "uid" in meta:
            kept = {k: v for k, v in meta.items() if k not in _SERVER_FIELDS}
            # The server itself sets the spec of a namespace.
            own = ("metadata", "status", *(("spec",) if kind == "Namespace" else ()))
            rest = {k: v for k, v in obj.items() if k not in own}
            return {**rest, "apiVersion": api_version, "kind": kind, "metadata": kept}
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}}
