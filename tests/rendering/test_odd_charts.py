"""Charts as people write them by accident or with care: the same objects as `helm template`, and its warnings."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from applyviz.sources.bundle import SourceBundle
from applyviz.sources.charts import packages
from applyviz.sources.charts.model import RenderedChart
from applyviz.sources.sandboxed import read_files
from tests.charts import archive, folder
from tests.rendering.test_chart_shapes import CHART, DB, config, definition, hook
from tests.rendering.test_helm import ARGUMENTS, render

pytestmark = [pytest.mark.renderers, pytest.mark.long]

PACKED = {"Chart.yaml": DB, "values.yaml": "size: small\n", "templates/db.yaml": config("packed", "{{ .Values.size }}")}
ITEMS = "apiVersion: v1\nkind: {kind}\nitems:\n- apiVersion: v1\n  kind: ConfigMap\n  metadata: {{name: {name}}}\n"
ODD: Mapping[str, dict[str, str | bytes]] = {
    "lists of objects": {
        "templates/a.yaml": ITEMS.format(kind="List", name="a"),
        "templates/b.yaml": ITEMS.format(kind="ConfigMapList", name="b"),
        "templates/c.yaml": "apiVersion: v1\nkind: List\nitems: []\n",
    },
    "marks, comments and empty documents": {
        "templates/a.yaml": f"---\n---\n{config('a')}\n---   \n{config('b')}--- # c\n{config('c')}...\n---\n",
        "templates/b.yaml": "# one\n---\n# two\n---\n\n---\n",
        "templates/c.yaml": f"---\n# Source: elsewhere/x.yaml\n{config('d')}",
        "templates/d.yaml": "{{- range (list 1 2) -}}\n---\n" + config("many-{{ . }}") + "{{ end -}}\n",
        "templates/e.yaml": config("e", "|\n    ---\n    # Source: x")
        .replace("{value: ", "\n  value: ")
        .replace("x}", "x"),
    },
    "one object several times": {
        "templates/a.yaml": f"{config('a')}---\n{config('a')}",
        "templates/b.yaml": config("a", "z"),
    },
    "nulls and anchors": {
        "values.yaml": "x: {a: null, b: [null, 1], c: {}}\ny: {a: 1, b: 2}\n",
        "templates/a.yaml": config("a") + "extra:\n{{ toYaml .Values.x | indent 2 }}\nmore: {{ toJson .Values.y }}\n",
        "templates/b.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\nx: &x {a: b}\n"
        "data: {<<: *x, c: d}\n",
    },
    "templates of other endings": {
        "templates/a.json": '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "json"}}',
        "templates/b.txt": config("txt"),
        "templates/deep/er/c.yml": config("deep"),
        "templates/_d.yaml": config("never"),
        "templates/README.md": "# nothing\n",
    },
    "definitions in folders, as JSON, and beside text": {
        "crds/README.md": "# nothing\n",
        "crds/a.yaml": f"{definition('a')}---\n{definition('b')}# {{{{ no template }}}}\n",
        "crds/sub/c.yml": definition("c"),
        "crds/d.json": '{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",'
        ' "metadata": {"name": "d.example.org"}}',
    },
    "a sub-chart that is packed": {
        "Chart.yaml": f"{CHART}dependencies: [{{name: db, version: 0.1.0, condition: db.enabled}}]\n",
        "values.yaml": "db: {enabled: true, size: large}\n",
        "charts/db-0.1.0.tgz": archive(PACKED, "db"),
    },
    "a sub-chart that is switched off, with its definitions": {
        "Chart.yaml": f"{CHART}dependencies: [{{name: db, version: 0.1.0, condition: db.enabled}}]\n",
        "values.yaml": "db: {enabled: false}\n",
        "charts/db/Chart.yaml": DB,
        "charts/db/crds/a.yaml": definition("a"),
        "charts/db/templates/a.yaml": config("never"),
        "templates/a.yaml": config("a"),
    },
    "a chart of Helm 2 with requirements.yaml": {
        "Chart.yaml": "apiVersion: v1\nname: shop\nversion: 1.0.0\n",
        "requirements.yaml": "dependencies:\n- name: db\n  version: 0.1.0\n"
        "  import-values: [{child: exports.x, parent: got}]\n",
        "charts/db/Chart.yaml": DB,
        "charts/db/values.yaml": "exports: {x: {y: 5}}\n",
        "charts/db/charts/in/Chart.yaml": "apiVersion: v2\nname: in\nversion: 0.1.0\n",
        "charts/db/charts/in/templates/a.yaml": config("inner", "{{ .Values.global.zone }}"),
        "values.yaml": "global: {zone: eu}\n",
        "templates/a.yaml": config("a", "{{ .Values.got.y | quote }}"),
    },
    "files, named templates that two charts define, and tpl": {
        "values.yaml": "text: '{{ include \"x\" . }}'\n",
        "files/a.txt": "one\ntwo\n",
        "templates/_a.tpl": '{{ define "x" }}ours{{ end }}',
        "charts/db/Chart.yaml": DB,
        "charts/db/templates/_z.tpl": '{{ define "x" }}theirs{{ end }}',
        "templates/a.yaml": config("a", "{{ tpl .Values.text . }}"),
        "templates/b.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: b}\ndata:\n"
        '{{ (.Files.Glob "files/*").AsSecrets | indent 2 }}\n',
        "templates/c.yaml": config("c", "'{{ range .Files.Lines \"files/a.txt\" }}{{ . }};{{ end }}'"),
        "templates/d.yaml": config(
            "d", "'{{ .Files.Get \"none\" }}{{ .Template.Name }}{{ .Capabilities.KubeVersion }}'"
        ),
    },
    "hooks written oddly": {
        "templates/a.yaml": hook("upper", "Pre-Install , post-install", 0, "hook-succeeded"),
        "templates/b.yaml": hook("weight", "pre-install", 0, "hook-failed").replace('"0"', '"first"'),
        "templates/c.yaml": hook("unknown", "no-such-hook", 0, "hook-failed"),
        "templates/d.yaml": config("plain"),
    },
    "a version with a mark and a build, a name unlike its folder": {
        "Chart.yaml": "apiVersion: v2\nname: other\nversion: v1.2.3+build.7\nappVersion: 1.10\ndeprecated: true\n",
        "templates/ä b.yaml": config("a", "{{ .Chart.AppVersion | quote }}"),
    },
}


def load(text: str | bytes) -> list[object]:
    """The documents of YAML in a stable order, as a parser without types reads them."""
    return sorted((one for one in yaml.load_all(text, yaml.CBaseLoader) if one), key=str)


def place_chart(chart: Mapping[str, bytes], place: Path) -> Path:
    for name, data in chart.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_bytes(data)
    return place / "shop"


def bring(files: Mapping[str, str | bytes]) -> dict[str, bytes]:
    texts = {name: text for name, text in files.items() if isinstance(text, str)}
    packed = {f"shop/{name}": data for name, data in files.items() if isinstance(data, bytes)}
    return {**folder({"Chart.yaml": CHART, **texts}), **packed}


def count_objects(found: RenderedChart) -> int:
    return sum(len(file.documents) for file in read_files(SourceBundle.of(found.files)).files)


@pytest.mark.parametrize("name", ODD)
def test_odd_chart_renders_as_helm_template(programs: Path, tmp_path: Path, name: str) -> None:
    chart = bring(ODD[name])
    command = [str(programs / "helm"), "template", "shop", str(place_chart(chart, tmp_path)), *ARGUMENTS]
    done = subprocess.run(command, capture_output=True, text=True, check=True)

    found = render(packages.read_folder(chart, "shop"))

    said = load(done.stdout)
    assert said
    assert sorted((one for file in found.files for one in load(file.data)), key=str) == said
    lists = sum("items" in one for one in said if isinstance(one, dict))
    items = sum(len(one["items"]) for one in said if isinstance(one, dict) and "items" in one)
    assert count_objects(found) == len(said) - lists + items
    assert len(found.warnings.splitlines()) == done.stderr.count("level=")


def test_hook_that_helm_does_not_know_is_told() -> None:
    found = render(packages.read_folder(bring(ODD["hooks written oddly"]), "shop"))

    assert found.warnings == "skipping unknown hooks hookTypes=no-such-hook"
    assert not any(b"unknown" in file.data for file in found.files)
