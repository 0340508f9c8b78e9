"""Charts that the tests write, rendered by the real helm in isolation, against `helm template` itself."""

from __future__ import annotations

import socket
import subprocess
from pathlib import Path

import pytest
import yaml

from applyviz.engine.objects.errors import SourceError
from applyviz.sources.bundle import BundledFile, SourceBundle
from applyviz.sources.charts import packages, rendering
from applyviz.sources.charts.model import ChartPackage, ChartSource, ChartTarget, RenderedChart
from applyviz.sources.kustomize import render as render_kustomization
from applyviz.sources.rendering.choose import run_here
from tests.charts import SHOP, archive, folder

pytestmark = pytest.mark.renderers

TARGET = ChartTarget("prod", "v1.33.2+k3s1", ("example.org/v1", "example.org/v1/Thing"))
ARGUMENTS = (
    "--namespace", "prod", "--include-crds", "--kube-version", "v1.33.2",
    "--api-versions", "example.org/v1", "--api-versions", "example.org/v1/Thing",
)  # fmt: skip


def render(
    package: ChartPackage, source: ChartSource | None = None, uploaded: dict[str, bytes] | None = None
) -> RenderedChart:
    return rendering.render(package, source or ChartSource("shop"), uploaded or {}, target=TARGET, run=run_here)


def of_folder(**more: str) -> ChartPackage:
    return packages.read_folder(folder(**more), "shop")


def template(programs: Path, place: Path, *words: str) -> list[object]:
    """What `helm template` prints outside, as documents."""
    command = [str(programs / "helm"), "template", "shop", str(place), *ARGUMENTS, *words]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return sort(yaml.safe_load_all(done.stdout))


def sort(documents: object) -> list[object]:
    return sorted((d for d in documents if d is not None), key=lambda d: yaml.safe_dump(d))  # type: ignore[attr-defined]


def documents_of(found: RenderedChart) -> list[object]:
    return sort(one for file in found.files for one in yaml.safe_load_all(file.data))


@pytest.fixture
def place(tmp_path: Path) -> Path:
    for name, data in folder().items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(data)
    return tmp_path / "shop"


def test_folder_and_archive_render_as_helm_template(programs: Path, place: Path) -> None:
    said = template(programs, place)

    assert [d["kind"] for d in said].count("ConfigMap") == 4
    assert documents_of(render(of_folder())) == said
    assert documents_of(render(packages.read_archive(archive(), "shop-1.2.3.tgz", {}))) == said


LIBRARY = {
    **{path: text for path, text in SHOP.items() if path.startswith(("Chart", "values", "charts/"))},
    "Chart.yaml": SHOP["Chart.yaml"].replace("dependencies: [", "dependencies: [{name: base, version: 1.0.0}, "),
    "charts/common/Chart.yaml": "apiVersion: v2\nname: base\nversion: 1.0.0\ntype: library\n",
    "charts/common/templates/_labels.tpl": '{{- define "base.labels" -}}team: {{ .Values.team }}{{- end -}}\n',
    "templates/labeled.yaml": (
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: labeled\n"
        '  labels: {{ include "base.labels" . | nindent 4 }}\n'
    ),
}


def test_library_chart_renders_as_helm_template(programs: Path, tmp_path: Path) -> None:
    for name, data in folder(LIBRARY).items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(data)
    found = render(packages.read_folder(folder(LIBRARY), "shop"), ChartSource("shop", values="team: sales"))

    assert documents_of(found) == template(programs, tmp_path / "shop", "--set", "team=sales")
    labeled = next(file.data for file in found.files if file.name.endswith("labeled.yaml"))
    assert yaml.safe_load(labeled)["metadata"]["labels"] == {"team": "sales"}


def test_values_files_and_values_win_in_their_order(programs: Path, place: Path, tmp_path: Path) -> None:
    uploaded = {"prod.yaml": b"color: red\nreplicas: 3\n", "eu.yaml": b"replicas: 4\n"}
    for name, data in uploaded.items():
        (tmp_path / name).write_bytes(data)
    (tmp_path / "inline.yaml").write_text("db: {size: large}\n")
    words = [word for name in (*uploaded, "inline.yaml") for word in ("--values", str(tmp_path / name))]

    found = render(of_folder(), ChartSource("shop", values_files=tuple(uploaded), values="db: {size: large}"), uploaded)

    assert documents_of(found) == template(programs, place, *words)
    assert 'color: "red"' in next(f.data.decode() for f in found.files if f.name.endswith("settings.yaml"))


def test_every_document_names_its_template_and_the_facts_of_the_chart() -> None:
    found = {file.name: file for file in render(of_folder()).files}

    assert sorted(found) == [
        "shop/charts/db/templates/db.yaml",
        "shop/crds/things.yaml",
        "shop/templates/migrate.yaml",
        "shop/templates/secret.yaml",
        "shop/templates/settings.yaml",
        "shop/templates/tests/connect.yaml",
        "shop/templates/two.yaml",
    ]
    facts = found["shop/templates/two.yaml"].provenance
    assert facts == {
        "from": "helm",
        "chart": "shop",
        "chart_version": "1.2.3",
        "app_version": "7",
        "chart_folder": "shop",
        "release": "shop",
        "namespace": "prod",
        "kube_version": "v1.33.2+k3s1",
        "api_versions": "2",
        "lookup": "yes",
        "template": "shop/templates/two.yaml",
    }
    assert found["shop/templates/two.yaml"].data.count(b"kind: ConfigMap") == 2


def test_target_reaches_templates_and_lookup_finds_nothing() -> None:
    files = {file.name: yaml.safe_load(file.data) for file in render(of_folder()).files if "settings" in file.name}

    assert files["shop/templates/settings.yaml"]["data"] == {
        "color": "blue", "replicas": "2", "namespace": "prod", "kubernetes": "v1.33.2", "things": "true", "live": "0"
    }  # fmt: skip


def test_release_notes_are_rendered() -> None:
    found = render(of_folder(), ChartSource("shop", release="web"))

    assert found.notes == "Thank you for shop.\nThe password is hunter-two, the key web-key."
    without = {path: text for path, text in SHOP.items() if path != "templates/NOTES.txt"}
    assert render(packages.read_archive(archive(without), "x", {})).notes == ""


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"templates__bad.yaml": "{{ .Values.nope.nope }}"}, "nil pointer evaluating interface {}.nope"),
        ({"templates__bad.yaml": '{{ required "say the color" .Values.shade }}'}, "say the color"),
        ({"values.schema.json": '{"required": ["region"]}'}, "values don't meet the specifications"),
        ({"templates__bad.yaml": "a: [1"}, "error converting YAML to JSON"),
    ],
)
def test_error_of_helm_is_told(more: dict[str, str], said: str) -> None:
    with pytest.raises(SourceError, match="helm cannot render the chart: ") as caught:
        render(of_folder(**more))

    assert said in str(caught.value) or "region" in str(caught.value)


def test_values_file_is_named_in_its_error() -> None:
    with pytest.raises(SourceError, match=r"prod\.yaml"):
        render(of_folder(), ChartSource("shop", values_files=("prod.yaml",)), {"prod.yaml": b"a: ["})


@pytest.mark.parametrize("attack", ['{{ env "HOME" }}', '{{ expandenv "$HOME" }}'])
def test_template_has_no_function_that_reads_the_environment(attack: str) -> None:
    with pytest.raises(SourceError, match=r"function .* not defined"):
        render(of_folder(**{"templates__attack.yaml": attack}))


@pytest.mark.parametrize("path", ["/etc/passwd", "../../../../etc/passwd", "/proc/self/environ"])
def test_template_reads_no_file_outside_of_the_chart(path: str) -> None:
    found = render(of_folder(**{"templates__attack.yaml": f'text: ">{{{{ .Files.Get "{path}" }}}}<"\n'}))

    text = next(file.data.decode() for file in found.files if "attack" in file.name)
    assert 'text: "><"' in text


def test_schema_that_refers_to_the_network_reaches_nothing() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.2)
        schema = f'{{"$ref": "http://127.0.0.1:{server.getsockname()[1]}/schema.json"}}'
        with pytest.raises(SourceError):
            render(of_folder(**{"values.schema.json": schema}))
        with pytest.raises(TimeoutError):
            server.accept()


@pytest.mark.parametrize(
    "bomb",
    [
        "{{ range $i := until 100000000 }}a{{ end }}",
        '{{ define "x" }}{{ include "x" . }}{{ include "x" . }}{{ end }}{{ include "x" . }}',
        '{{ $x := "aaaaaaaaaaaaaaaa" }}{{ range until 40 }}{{ $x = print $x $x }}{{ end }}{{ $x }}',
    ],
)
def test_template_that_needs_too_much_ends(bomb: str) -> None:
    with pytest.raises(SourceError):
        render(of_folder(**{"templates__bomb.yaml": bomb}))


def test_real_kustomize_renders_a_tree() -> None:
    tree = SourceBundle.of(
        [
            BundledFile("prod/kustomization.yaml", b"resources: [../base]\nnamePrefix: prod-\n"),
            BundledFile("base/kustomization.yaml", b"resources: [a.yaml]\n"),
            BundledFile("base/a.yaml", b"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n"),
        ]
    )

    assert yaml.safe_load(render_kustomization(tree, "prod").data)["metadata"]["name"] == "prod-a"


def test_kustomization_reaches_no_network_and_no_file_of_the_host(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("hunter2")
    generator = f"configMapGenerator: [{{name: a, files: ['{tmp_path}/secret']}}]"
    for text in (generator, "resources: ['https://127.0.0.1:9/x']", "transformers: ['./plugin.yaml']"):
        job = SourceBundle.of([BundledFile("kustomization.yaml", text.encode())])
        with pytest.raises(SourceError) as caught:
            render_kustomization(job)
        assert "hunter2" not in str(caught.value)
