"""Every row of the merge tables of the guide is what the real kubectl and API server make of it."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from applyviz.engine.merge.last_applied import render
from applyviz.engine.objects.known_names import LAST_APPLIED
from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.objects.values import JSONObject, get_at, is_same_json
from applyviz.engine.schema.builtin import bundled
from applyviz.guide.abridging import abridge
from applyviz.guide.pages import PagePart, parse_page
from applyviz.guide.tables import build_versions, list_rows
from tests.controlplane.controlplane import ControlPlane, run_kubectl
from tests.controlplane.fixed_fields import Asker
from tests.controlplane.guide_replay import without_annotation
from tests.controlplane.proxying import Recorder
from tests.controlplane.record import render_config

pytestmark = [pytest.mark.controlplane, pytest.mark.long]
FOLDER = Path(__file__).resolve().parents[2] / "docs" / "semantics"
NAMESPACE = "guide-tables"


def list_table_rows() -> Iterator[Any]:
    """Yield the base, the path and the values of each row; its name is the page, the example and the row."""
    for file in sorted(FOLDER.glob("*.md")):
        for number, example in enumerate(parse_page(file.stem, file.read_text()).examples, 1):
            base: JSONObject = {}
            for block in example.blocks:
                if block.part is PagePart.BASE:
                    base = yaml.safe_load(block.text)
                elif block.part is PagePart.TABLE:
                    for place, row in enumerate(list_rows(block.text), 1):
                        name = f"{file.stem}-{number}-{place}"
                        yield pytest.param(_name(base, name), tuple(block.words[0].split(".")), row, id=name)


def _name(base: JSONObject, name: str) -> JSONObject:
    """Return the base as a separate object, so that the objects of all rows are live together."""
    namespaced = {"namespace": NAMESPACE} if "namespace" in base["metadata"] else {}
    return {**base, "metadata": {"name": name, **namespaced}}


@pytest.fixture(scope="module")
def recorder(control_plane: ControlPlane) -> Iterator[Recorder]:
    control_plane.kubectl("create", "namespace", NAMESPACE)
    with Recorder(control_plane) as proxy:
        yield proxy


def apply(plane: ControlPlane, recorder: Recorder, manifest: JSONObject) -> Any:
    """Apply an object; return the patch that kubectl sent, without its annotation."""
    recorder.take()
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder, "config")
        config.write_text(render_config(recorder.url, NAMESPACE))
        run_kubectl(plane.binaries.kubectl, config, "apply", "-f", "-", stdin=json.dumps(manifest))
    (patch,) = [e["body"] for e in recorder.take()[1] if e["method"] == "PATCH"] or [{}]
    return without_annotation(patch) if patch else {}


@pytest.mark.core(2)
@pytest.mark.parametrize(("base", "path", "row"), tuple(list_table_rows()))
def test_row_is_what_the_real_server_answers(
    control_plane: ControlPlane, recorder: Recorder, base: JSONObject, path: tuple[str, ...], row: Mapping[str, Any]
) -> None:
    asker, versions = Asker(control_plane), build_versions(base, path, row)
    live, manifest = versions["live"], versions["manifest"]
    gvk = GroupVersionKind.from_object(base)
    resource, kind = bundled().find_resource(gvk), bundled().find_kind(gvk)
    assert resource is not None
    address = resource.path(NAMESPACE, base["metadata"]["name"])
    record = {LAST_APPLIED: render(versions["last-applied"])}
    body = {**live, "metadata": {**live["metadata"], "annotations": record}}
    status, made = asker.ask("POST", address.rpartition("/")[0], body)
    assert status == 201, made

    patch = apply(control_plane, recorder, manifest)

    _status, stored = asker.ask("GET", address, None)
    after = get_at(abridge(stored, known=(live, manifest), before=None, kind=kind), path)
    assert is_same_json(get_at(patch, path[:-1]) or None, row.get("patch"))
    assert is_same_json(after, row.get("after"))
