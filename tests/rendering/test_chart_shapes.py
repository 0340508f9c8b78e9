"""Charts of many shapes: each renders as `helm template` renders it, and each error names its template and line."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from applyviz.engine.objects.errors import SourceError
from applyviz.sources.charts import packages
from tests.charts import folder
from tests.rendering.test_helm import documents_of, render, template

pytestmark = pytest.mark.renderers

CHART = "apiVersion: v2\nname: shop\nversion: 1.0.0\n"
DB = "apiVersion: v2\nname: db\nversion: 0.1.0\n"


def config(name: str, value: str = "x") -> str:
    """A template of a ConfigMap."""
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata: {{value: {value}}}\n"


def hook(name: str, moments: str, weight: int, policy: str) -> str:
    """A template of a hook."""
    first = f'helm.sh/hook: "{moments}"\n    helm.sh/hook-weight: "{weight}"'
    annotations = f"    {first}\n    helm.sh/hook-delete-policy: {policy}\n"
    return f"apiVersion: v1\nkind: Pod\nmetadata:\n  name: {name}\n  annotations:\n{annotations}"


def definition(name: str) -> str:
    """A definition of a kind."""
    return (
        f"apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{name: {name}.example.org}}\n"
    )


SHAPES: Mapping[str, tuple[int, dict[str, str]]] = {
    "hooks with weights and delete policies": (
        4,
        {
            "templates/many.yaml": "---\n".join(
                (
                    hook("late", "pre-install,post-upgrade", 5, "before-hook-creation,hook-succeeded"),
                    hook("early", "pre-install", -5, "hook-failed"),
                    config("plain"),
                )
            ),
            "templates/tests/a.yaml": hook("check", "test", 0, "hook-succeeded"),
        },
    ),
    "definitions of a sub-chart": (
        4,
        {
            "Chart.yaml": f"{CHART}dependencies: [{{name: db, version: 0.1.0}}]\n",
            "crds/own.yaml": definition("own"),
            "charts/db/Chart.yaml": DB,
            "charts/db/crds/two.yaml": f"{definition('first')}---\n{definition('second')}",
            "charts/db/templates/db.yaml": config("db"),
        },
    ),
    "aliases, a condition and a tag": (
        1,
        {
            "Chart.yaml": f"{CHART}dependencies:\n- {{name: db, version: 0.1.0, alias: first}}\n"
            "- {name: db, version: 0.1.0, alias: second, condition: second.enabled}\n"
            "- {name: db, version: 0.1.0, alias: third, tags: [more]}\n",
            "values.yaml": "first: {size: big}\nsecond: {enabled: false}\ntags: {more: false}\nglobal: {zone: eu}\n",
            "charts/db/Chart.yaml": DB,
            "charts/db/templates/db.yaml": config("{{ .Chart.Name }}", "{{ .Values.size }}-{{ .Values.global.zone }}"),
        },
    ),
    "texts and files as templates": (
        2,
        {
            "values.yaml": "title: '{{ .Release.Name }} {{ .Chart.Version }}'\n",
            "files/note.txt": "hello\n---\n# Source: elsewhere\n",
            "templates/a.yaml": config("title", "{{ tpl .Values.title . | quote }}")
            + "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: files}\ndata:\n"
            '{{ (.Files.Glob "files/*").AsConfig | indent 2 }}\n',
        },
    ),
    "a namespace, an empty template and a comment": (
        2,
        {
            "templates/space.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: {{ .Release.Namespace }}}\n",
            "templates/empty.yaml": "{{ if false }}a: b{{ end }}\n",
            "templates/comment.yaml": "# nothing\n",
            "templates/a.yaml": config("a", "{{ .Release.IsInstall }}-{{ .Release.Revision }}"),
        },
    ),
    "files that are ignored, a mark and line ends of Windows": (
        2,
        {
            ".helmignore": "templates/draft-*\n",
            "templates/draft-a.yaml": config("draft"),
            "templates/a.yaml": "\ufeff" + f"{config('a')}---\n{config('b')}".replace("\n", "\r\n"),
        },
    ),
    "large values": (
        1,
        {"values.yaml": f"text: {'a' * 900_000}\n", "templates/a.yaml": config("a", "{{ len .Values.text | quote }}")},
    ),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_chart_renders_as_helm_template(programs: Path, tmp_path: Path, shape: str) -> None:
    count, files = SHAPES[shape]
    chart = folder({"Chart.yaml": CHART, **files})
    for name, data in chart.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(data)

    said = template(programs, tmp_path / "shop")
    assert (documents_of(render(packages.read_folder(chart, "shop"))), len(said)) == (said, count)


@pytest.mark.parametrize(
    ("files", "said"),
    [
        (
            {"templates/a.yaml": config("a", '{{ required "Error: say the color" .Values.color }}')},
            "at (shop/templates/a.yaml:4:17): Error: say the color",
        ),
        (
            {"templates/a.yaml": '\n{{ fail "first\\n\\nsecond" }}'},
            "at (shop/templates/a.yaml:2:3): first second",
        ),
        ({"templates/a.yaml": "a: b\n{{ if }}\n"}, "at (shop/templates/a.yaml:2): missing value for if"),
        ({"templates/a.yaml": "a:\n  b: c\n d: e\n"}, "on shop/templates/a.yaml: error converting YAML to JSON: yaml"),
        ({"values.yaml": "a: ["}, "cannot load values.yaml: cannot unmarshal yaml document"),
        (
            {"values.yaml": "port: a\n", "values.schema.json": '{"properties": {"port": {"type": "integer"}}}'},
            "shop: - at '/port': got string, want integer",
        ),
        ({"templates/NOTES.txt": '{{ fail "no notes" }}'}, "at (shop/templates/NOTES.txt:1:3): no notes"),
        ({"Chart.yaml": f"{CHART}kubeVersion: '>=1.99.0'\n"}, "chart requires kubeVersion: >=1.99.0"),
    ],
)  # fmt: skip
def test_error_names_the_template_and_the_line(files: dict[str, str], said: str) -> None:
    chart = folder({"Chart.yaml": CHART, "templates/b.yaml": config("b"), **files})

    with pytest.raises(SourceError) as caught:
        render(packages.read_folder(chart, "shop"))
    assert said in str(caught.value)
    assert "--debug" not in str(caught.value)
