"""The inputs of one kubectl invocation: its manifests, its environment, and the custom kinds at that time."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from applyviz.conformance.stories import Invocation, Story, StoryExchange, StoryStep
from applyviz.engine.manifests.documents import ParsedFile
from applyviz.engine.manifests.limits import ReadLimits
from applyviz.engine.manifests.parse import parse_manifests
from applyviz.engine.objects.structs import replace
from applyviz.engine.objects.values import JSONObject
from applyviz.engine.requests.argv import ApplyCommand
from applyviz.engine.requests.flow import Catalog
from applyviz.engine.requests.inputs import Inputs, Material, read_inputs
from applyviz.engine.schema.builtin import bundled
from applyviz.engine.schema.crds import CRDSource
from applyviz.engine.schema.sources import SourceChain

_CRD_PATH = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_LIMITS = ReadLimits(document_bytes=64 * 1024 * 1024, file_bytes=64 * 1024 * 1024, documents=100_000)
_FEATURE = re.compile(r"\b(KUBECTL_[A-Z_]+)=(\S+)")


def _crd_after(exchange: StoryExchange) -> tuple[str, JSONObject | None] | None:
    """Return the definition that a write leaves behind: its name and its current value (None: deleted)."""
    is_definition = exchange.path.startswith(_CRD_PATH) and not exchange.path.endswith("/status")
    if not is_definition or not exchange.is_write or not exchange.answer.is_ok or exchange.query.get("dryRun"):
        return None
    body = exchange.answer.body
    if exchange.method == "DELETE":
        return exchange.path.rpartition("/")[2], None
    if not isinstance(body, Mapping) or body.get("kind") != "CustomResourceDefinition":
        return None
    return body["metadata"]["name"], body


@dataclass
class SeenDefinitions:
    """CustomResourceDefinitions after the writes so far.

    - A deleted one stays in kubectl's cache until kubectl refreshes its discovery.
    """

    by_name: dict[str, JSONObject] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)

    def follow(self, exchanges: Sequence[StoryExchange]) -> None:
        """Apply the changes that the exchanges made to definitions."""
        for exchange in exchanges:
            change = _crd_after(exchange)
            if change is not None and change[1] is not None:
                self.by_name[change[0]] = change[1]
                self.gone.discard(change[0])
            elif change is not None:
                self.gone.add(change[0])

    def forget_gone(self) -> None:
        """Drop the deleted definitions."""
        for name in self.gone:
            self.by_name.pop(name, None)
        self.gone.clear()

    def catalog(self) -> Catalog:
        """Return the kinds at this point."""
        return SourceChain(CRDSource(list(self.by_name.values())), bundled()) if self.by_name else bundled()


def _inside(path: str, files: Mapping[str, str]) -> str:
    """Return an absolute path as the story names it, without the recorder's folder."""
    steps = path.split("/") if path.startswith("/") else []
    for cut in range(1, len(steps)):
        name = "/".join(steps[cut:]).rstrip("/")
        if any(f == name or f.startswith(name + "/") for f in files):
            return name
    return path


def read_files(command: ApplyCommand, invocation: Invocation) -> tuple[Inputs, list[ParsedFile]]:
    """Return the texts that the command reads, and their documents."""
    material = Material(invocation.files, invocation.stdin, invocation.rendered, invocation.folder)
    if not invocation.folder:
        command = replace(command, filenames=tuple(_inside(f, invocation.files) for f in command.filenames))
    inputs = read_inputs(command, material)
    files = [
        parse_manifests(t.text.encode("utf-8", "surrogateescape"), t.name, limits=_LIMITS)
        for t in inputs.texts
        if inputs.is_usable
    ]
    return inputs, files


def read_env(story: Story, step: StoryStep) -> dict[str, str]:
    """Return the environment of a step's commands."""
    return {**story.env, **dict(_FEATURE.findall(step.run))}
