"""Carry out an example of the guide with the real kubectl and API server: patch, result, owners, refusal, output.

Inputs are the texts of the page, in a namespace of the example. Defaults that the server had filled in before
are left out of both.
"""

from __future__ import annotations

import json
import re
import tempfile
import time
import urllib.parse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from applyviz.engine.merge.last_applied import render
from applyviz.engine.objects.exchange import APPLY_PATCH, JSON_PATCH, Answer
from applyviz.engine.objects.known_names import LAST_APPLIED
from applyviz.engine.objects.paths import render_path
from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.objects.structs import replace
from applyviz.engine.objects.values import JSONObject, MutableObject, clone, get_at
from applyviz.engine.ownership import managed_fields, migrate
from applyviz.engine.planning.simulation.dry_run_result import describe_refusal
from applyviz.engine.schema.builtin import bundled
from applyviz.engine.schema.crds import CRDSource
from applyviz.engine.schema.walk import list_leaves
from applyviz.guide.abridging import abridge
from applyviz.guide.answers import read_object
from applyviz.guide.pages import Block, Example, PagePart
from tests.controlplane.controlplane import ControlPlane, run_kubectl
from tests.controlplane.fixed_fields import Asker
from tests.controlplane.proxying import Recorder
from tests.controlplane.record import render_config

# Values that a server chooses, or that the pages leave out.
_OF_SERVER = ("managedFields", "creationTimestamp", "generation", "resourceVersion", "uid", "selfLink")
_TEXTS = (PagePart.MANIFEST, PagePart.LAST_APPLIED, PagePart.LIVE, PagePart.APPLY, PagePart.UPDATE, PagePart.AFTER)
_FREE = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
_SET_ID = "applyset.kubernetes.io/id"
_WARNING = re.compile(r"Warning: |W\d{4} ")
_SECONDS = 30


@dataclass
class Outcome:
    """The real outcome: absent parts are None or empty."""

    patch: Any = None
    after: JSONObject | None = None
    owners: dict[str, set[str]] = field(default_factory=dict)
    managed: Any = None
    refused: tuple[str, ...] = ()
    prints: tuple[str, ...] = ()


def rename(example: Example, namespace: str) -> Example:
    """Return the example in another namespace than `shop`."""
    named = re.compile(r'(namespace"?: ?"?)shop\b')
    blocks = (replace(b, text=named.sub(rf"\g<1>{namespace}", b.text)) for b in example.blocks)
    return replace(example, blocks=tuple(blocks))


def read_owner_lines(text: str) -> dict[str, set[str]]:
    """Return the owners of a page: the name of each with its fields."""
    found = (line.partition("): ") for line in text.splitlines() if line != "nobody")
    return {f"{name})": set(paths.split()) for name, _colon, paths in found}


class Replay:
    """One example on one control plane."""

    def __init__(self, plane: ControlPlane, recorder: Recorder, example: Example, namespace: str) -> None:
        self._plane, self._recorder, self._namespace = plane, recorder, namespace
        self.example = rename(example, namespace)
        self._asker = Asker(plane)
        self._definitions: list[JSONObject] = []
        self._plane.kubectl("create", "namespace", namespace)
        self._serve_custom_kinds()

    def run(self) -> Outcome:
        """Carry out the example."""
        if self.example.find(PagePart.COMMAND) is not None:
            return self._run_command()
        if self.example.steps:
            return self._run_story()
        manifest = yaml.safe_load(self.example.find(PagePart.MANIFEST) or "")
        if manifest.get("kind") == "Patch":
            return self._run_patch(manifest)
        if self.example.find(PagePart.LIVE) is None:
            return self._read()
        return self._run_apply()

    # what the examples need

    def _serve_custom_kinds(self) -> None:
        """Define the kinds that the example uses and does not define, with any fields."""
        texts = [b.text for b in self.example.blocks if b.part in (*_TEXTS, PagePart.SET)]
        defined = {
            yaml.safe_load(b.text)["spec"]["names"]["kind"] for b in self.example.blocks if b.part is _DEFINITION
        }
        for text in texts:
            for obj in yaml.safe_load_all(text):
                group, _slash, _version = (obj or {}).get("apiVersion", "").partition("/")
                if group.endswith("example.com") and obj["kind"] not in {*defined, "Nothing"}:
                    self._define(_make_definition(group, obj["kind"]))

    def _define(self, definition: JSONObject) -> None:
        """Serve a kind, and wait until the server uses its schema."""
        self._definitions = [definition]
        text = json.dumps(definition)
        self._plane.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=text)
        group, kind = definition["spec"]["group"], definition["spec"]["names"]["kind"]
        wanted = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"].get("properties", {}).get("spec")
        deadline = time.monotonic() + _SECONDS
        while True:
            status, found = self._asker.ask("GET", f"/openapi/v3/apis/{group}/v1", None)
            schemas = get_at(found, ("components", "schemas")) or {}
            served = [s for name, s in schemas.items() if name.endswith(f".{kind}")]
            if status == 200 and served and get_at(served[0], ("properties", "spec")) == wanted:
                return
            assert time.monotonic() < deadline, f"{group} {kind} is not served: {served}"
            time.sleep(0.2)

    def _find_kind(self, obj: JSONObject) -> Any:
        gvk = GroupVersionKind.from_object(obj)
        return (CRDSource(self._definitions).find_kind(gvk) if self._definitions else None) or bundled().find_kind(gvk)

    def _path(self, obj: JSONObject, *, is_collection: bool = False) -> str:
        gvk = GroupVersionKind.from_object(obj)
        source = CRDSource(self._definitions) if self._definitions else bundled()
        resource = source.find_resource(gvk) or bundled().find_resource(gvk)
        assert resource is not None, gvk
        path: str = resource.path(self._namespace, obj["metadata"]["name"])
        return path.rpartition("/")[0] if is_collection else path

    def _get(self, obj: JSONObject) -> JSONObject | None:
        status, found = self._asker.ask("GET", self._path(obj), None)
        return found if status == 200 else None

    def _send(self, method: str, path: str, body: Any, content_type: str = "application/json") -> Answer:
        return Answer(*self._asker.ask(method, path, body, content_type))

    def _create(self, obj: JSONObject, *, manager: str = "kubectl-create") -> JSONObject:
        """Create a live object with exactly the field owners that it names."""
        body = clone(dict(obj))
        owners = body["metadata"].pop("managedFields", None)
        for name in ("uid", "resourceVersion", "creationTimestamp"):
            body["metadata"].pop(name, None)
        query = urllib.parse.urlencode({"fieldManager": manager})
        made = self._send("POST", f"{self._path(obj, is_collection=True)}?{query}", body)
        assert made.is_ok, made.message
        assert "status" not in body
        if owners is not None:
            patch = [{"op": "replace", "path": "/metadata/managedFields", "value": owners or [{}]}]
            made = self._send("PATCH", self._path(obj), patch, JSON_PATCH)
        assert made.is_ok, made.message
        return made.body

    def _kubectl(self, folder: Path, *arguments: str, stdin: str | None = None, has_applysets: bool = False) -> Any:
        config = folder / "config"
        config.write_text(render_config(self._recorder.url, self._namespace))
        program = self._plane.binaries.kubectl
        return run_kubectl(program, config, *arguments, stdin=stdin, check=False, has_applysets=has_applysets)

    # the kinds of examples

    def _run_apply(self) -> Outcome:
        manifest_text, live = self.example.find(PagePart.MANIFEST) or "", self._read(PagePart.LIVE).after or {}
        applied = self.example.find(PagePart.LAST_APPLIED)
        if applied is not None:
            annotations = {
                **(live["metadata"].get("annotations") or {}),
                LAST_APPLIED: render(read_object(applied, "")),
            }
            live = {**live, "metadata": {**live["metadata"], "annotations": annotations}}
        before = self._create(live)
        self._recorder.take()
        with tempfile.TemporaryDirectory() as folder:
            done = self._kubectl(Path(folder), "apply", "-f", "-", stdin=manifest_text)
        patches = [e for e in self._recorder.take()[1] if e["method"] == "PATCH"]
        patch = without_annotation(patches[0]["body"]) if patches else {}
        if done.returncode:
            answer = Answer(patches[0]["status"], patches[0]["response"]) if patches else None
            return Outcome(patch, refused=(describe_refusal(answer) if answer else done.stderr,))
        known = (read_object(manifest_text, ""), self._read(PagePart.LIVE).after or {})
        return Outcome(patch, self._abridge(self._get(live) or {}, before, known))

    def _run_patch(self, document: JSONObject) -> Outcome:
        live = self._read(PagePart.LIVE).after or {}
        before, target = self._create(live), document["target"]
        self._recorder.take()
        flags = (f"--type={document.get('type', 'strategic')}", "-p", json.dumps(document["patch"]))
        flags += (f"--subresource={document['subresource']}",) if "subresource" in document else ()
        with tempfile.TemporaryDirectory() as folder:
            done = self._kubectl(Path(folder), "patch", target["kind"].lower(), target["name"], *flags)
        if done.returncode:
            answer = next(e for e in self._recorder.take()[1] if e["method"] == "PATCH")
            refusal = describe_refusal(Answer(answer["status"], answer["response"]))
            return Outcome(refused=tuple(refusal.splitlines()))
        known = (live, self._read(PagePart.AFTER).after or {})
        return Outcome(after=self._abridge(self._get(live) or {}, before, known))

    def _run_story(self) -> Outcome:
        live, before = None, None
        text = self.example.find(PagePart.LIVE)
        if text is not None:
            obj = read_object(text, "live")
            live = before = self._create({**obj, "metadata": {"managedFields": [], **obj["metadata"]}})
        known: list[JSONObject] = [read_object(text, "live")] if text is not None else []
        for step in (b for b in self.example.blocks if b.part.is_step or b.part is _DEFINITION):
            if step.part is _DEFINITION:
                self._define(read_object(step.text, "definition"))
                continue
            before = live
            known += [] if step.part is PagePart.MIGRATE else [read_object(step.text, "step")]
            answer = self._take_step(step, known[-1], live)
            if not answer.is_ok:
                return Outcome(refused=tuple(_read_refusal(answer)))
            live = self._get(known[-1])
        assert live is not None
        entries = [{k: v for k, v in one.items() if k != "time"} for one in live["metadata"].get("managedFields", ())]
        owners = self._list_owners(live, known)
        return Outcome(after=self._abridge(live, before, known), owners=owners, managed=entries)

    def _take_step(self, step: Block, obj: JSONObject, live: JSONObject | None) -> Answer:
        path, query = self._path(obj), {"fieldManager": step.words[0]}
        if step.part is PagePart.MIGRATE:
            assert live is not None
            moved = migrate.upgrade(live, manager=step.words[0], csa_managers=list(step.words[1:]))
            return self._send(
                "PATCH", path, [{"op": "replace", "path": "/metadata/managedFields", "value": moved}], JSON_PATCH
            )
        if step.part is PagePart.APPLY:
            query["force"] = str("force" in step.words).lower()
            return self._send("PATCH", f"{path}?{urllib.parse.urlencode(query)}", obj, APPLY_PATCH)
        encoded = urllib.parse.urlencode(query)
        if live is None:
            return self._send("POST", f"{self._path(obj, is_collection=True)}?{encoded}", obj)
        if step.words[1:] == ("scale",):
            scale: JSONObject = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": obj["metadata"]}
            return self._send(
                "PUT", f"{path}/scale?{encoded}", {**scale, "spec": {"replicas": obj["spec"]["replicas"]}}
            )
        below = "".join(f"/{word}" for word in step.words[1:])
        return self._send("PUT", f"{path}{below}?{encoded}", obj)

    def _run_command(self) -> Outcome:
        command = (self.example.find(PagePart.COMMAND) or "").split()
        for obj in yaml.safe_load_all(self.example.find(PagePart.CLUSTER) or ""):
            if _SET_ID in (obj["metadata"].get("labels") or {}):  # kubectl writes a parent as this manager
                made = self._send("PATCH", f"{self._path(obj)}?fieldManager=kubectl-applyset", obj, APPLY_PATCH)
                assert made.is_ok, made.message
            else:
                self._create(obj)
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "set")
            file.write_text(self.example.find(PagePart.SET) or "")
            words = [str(file) if word == "set" else word for word in command[command.index("kubectl") + 1 :]]
            done = self._kubectl(Path(folder), *words, has_applysets="KUBECTL_APPLYSET=true" in command)
        printed = (done.stdout + done.stderr.replace(str(file), "set")).splitlines()
        return Outcome(prints=tuple(line for line in printed if line and not _WARNING.match(line)))

    def _read(self, part: PagePart = PagePart.MANIFEST) -> Outcome:
        """Return an object as kubectl reads it."""
        flags = ("create", "--dry-run=client", "--validate=false", "-o", "json", "-f", "-")
        with tempfile.TemporaryDirectory() as folder:
            done = self._kubectl(Path(folder), *flags, stdin=self.example.find(part) or "")
        assert done.returncode == 0, done.stderr
        found: JSONObject = json.loads(done.stdout)
        return Outcome(after=found)

    # what is compared

    def _abridge(self, after: JSONObject, before: JSONObject | None, known: Sequence[JSONObject]) -> JSONObject:
        left = abridge(after, known=known, before=before, kind=self._find_kind(after))
        return without_server_fields(left, known)

    def _list_owners(self, live: JSONObject, known: Sequence[JSONObject]) -> dict[str, set[str]]:
        named = {path for obj in known for path in self._list_paths(obj)}
        found: dict[str, set[str]] = {}
        for entry in managed_fields.read_owners(live).entries:
            owner = entry.owner
            what = f"{owner.operation} {owner.subresource}" if owner.subresource else owner.operation
            fields = {render_path(path) for path in entry.fields} & named
            if fields:
                found[f"{owner.manager} ({what})"] = fields
        return found

    def _list_paths(self, obj: JSONObject) -> Iterator[str]:
        kind = self._find_kind(obj)
        for path in list_leaves(kind.root if kind else None, obj):
            yield from (render_path(path[:n]) for n in range(1, len(path) + 1))


_DEFINITION = PagePart.DEFINITION


def _make_definition(group: str, kind: str) -> JSONObject:
    plural = f"{kind.lower()}s"
    schema = {"type": "object", "properties": {"spec": _FREE}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"kind": kind, "plural": plural}
    spec = {"group": group, "scope": "Namespaced", "names": names, "versions": [version]}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": spec,
    }


def _read_refusal(answer: Answer) -> Iterator[str]:
    causes = get_at(answer.body, ("details", "causes")) or ()
    conflicts = [c for c in causes if c.get("reason") == "FieldManagerConflict"]
    yield from sorted(f"{c['message']}: {c['field']}" for c in conflicts)
    if not conflicts:
        yield describe_refusal(answer)


def without_annotation(patch: Any) -> Any:
    """Return a patch of kubectl without the annotation that it always writes."""
    body: MutableObject = clone(dict(patch))
    annotations = get_at(body, ("metadata", "annotations"))
    if isinstance(annotations, dict):
        annotations.pop(LAST_APPLIED, None)
        if not annotations:
            del body["metadata"]["annotations"]
        if not body["metadata"]:
            del body["metadata"]
    return body


def without_server_fields(obj: JSONObject, known: Sequence[JSONObject] = ()) -> MutableObject:
    """Return an object without what a server chooses, and without last-applied unless a known object has it."""
    shown: MutableObject = clone(dict(obj))
    for name in _OF_SERVER:
        shown["metadata"].pop(name, None)
    annotations = shown["metadata"].get("annotations") or {}
    if not any(get_at(one, ("metadata", "annotations", LAST_APPLIED)) for one in known):
        annotations.pop(LAST_APPLIED, None)
    if not annotations:
        shown["metadata"].pop("annotations", None)
    return {k: v for k, v in shown.items() if k != "status" or v}
