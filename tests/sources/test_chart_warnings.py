"""Messages of helm beside the rendered manifests, and charts whose templates query the cluster."""

from __future__ import annotations

import pytest

from applyviz.sources.charts import packages, rendering
from applyviz.sources.charts.model import ChartSource, ChartTarget
from applyviz.sources.rendering.job import Rendered
from applyviz.workflow.plans.chart_notes import MOST_WARNINGS, mask_notes
from tests.charts import archive

CHART = {"Chart.yaml": b"apiVersion: v2\nname: shop\nversion: 1.0.0\n"}
CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"


def render(files, errors=""):
    package = packages.read_folder({f"shop/{name}": data for name, data in {**CHART, **files}.items()}, "shop")
    run = lambda job, limits: Rendered(0, f"---\n# Source: shop/templates/a.yaml\n{CONFIG}".encode(), errors)  # noqa: E731
    return rendering.render(package, ChartSource("shop"), {}, target=ChartTarget("prod"), run=run)


@pytest.mark.parametrize(
    ("errors", "expected"),
    [
        ("", ""),
        ('level=WARN msg="this chart is deprecated"\n' * 2, "this chart is deprecated"),
        (
            'level=INFO msg="skipping unknown hooks" hookTypes=no-such\nsomething else\n',
            "skipping unknown hooks hookTypes=no-such",
        ),
        ('level=WARN msg="the \\"port\\" is no table"\n', 'the "port" is no table'),
    ],
)
def test_warnings_are_kept_beside_the_manifests(errors, expected):
    assert render({}, errors).warnings == expected


def test_long_warnings_are_cut_where_credentials_are_hidden():
    found = render({}, "\n".join(f'level=WARN msg="{n}{"a" * 90}"' for n in range(99))).warnings

    assert len(found) > 9_000
    assert mask_notes(found, (), (), most=MOST_WARNINGS) == found[:2_000]


@pytest.mark.parametrize(
    "call", ['lookup "v1" "Secret" "" ""', 'lookup  "v1"', "lookup\n  $version", "(lookup .Values.a)", "lookup `v1`"]
)
def test_template_that_asks_the_cluster_is_found(call):
    template = f"{{{{ {call} }}}}"
    packed = archive({"Chart.yaml": "apiVersion: v2\nname: db\nversion: 1.0.0\n", "templates/a.yaml": template}, "db")

    assert render({"templates/a.yaml": template.encode()}).facts.get("lookup") == "yes"
    assert render({"charts/db-1.0.0.tgz": packed}).facts.get("lookup") == "yes"


@pytest.mark.parametrize("data", [b"no archive", archive({"Chart.yaml": "name: db\nversion: 1.0.0\n"}, "db")])
def test_chart_without_such_a_call_is_none(data):
    files = {
        "charts/db-1.0.0.tgz": data,
        "templates/a.yaml": b"{{ .Values.lookup }}",
        "files/a.txt": b'{{ lookup "v1" }}',
    }

    assert "lookup" not in render(files).facts
