"""Sources and options of the gate beside --review: manifests make its next plan, options that it keeps are refused."""

import pytest

from scripts import gate
from tests.scripts.test_gate_next_plan import NextPlanApi
from tests.scripts.test_gate_options import SEEN, Api

GIT = {"git_repository": "https://git.example/shop", "git_ref": "main"}


@pytest.mark.parametrize(
    ("flags", "asked"),
    [
        (["--link", "https://h.example/a.yaml"], {"links": ["https://h.example/a.yaml"]}),
        (["--git", "https://git.example/shop", "--git-ref", "main", "--git-path", "k8s"], {**GIT, "git_path": "k8s"}),
        (
            ["--git", "https://git.example/shop", "--git-ref", "main", "--chart", "web", "--git-values", "prod.yaml"],
            {**GIT, "chart": "web", "chart_values_files": "prod.yaml"},
        ),
        (
            ["--chart", "oci://h.example/web", "--chart-version", "1.2.3", "--chart-hooks", "--replace", "Job"],
            {"chart": "oci://h.example/web", "chart_version": "1.2.3", "chart_hooks": "apply", "replace": "Job"},
        ),
    ],
)
def test_sources_make_the_next_plan_of_a_review(flags, asked):
    api = NextPlanApi()

    assert gate._open_review(api, gate._read_arguments(["--review", "7", *flags])) == 7

    assert (api.path, api.body) == ("reviews/7/plans/", asked | SEEN)


def test_files_and_values_make_the_next_plan_of_a_review(tmp_path):
    (tmp_path / "app.yaml").write_text("a: 1\n")
    (tmp_path / "values.yaml").write_text("b: 1\n")
    api = NextPlanApi()
    flags = ["--review", "7", "--chart", ".", "--values", str(tmp_path / "values.yaml"), str(tmp_path / "app.yaml")]

    gate._open_review(api, gate._read_arguments(flags))

    assert [file["name"] for file in api.body["files"]] == ["app.yaml", "values-files/1/values.yaml"]
    assert (api.body["chart"], api.body["chart_values_files"]) == (".", "values-files/1/values.yaml")


def test_review_alone_makes_no_plan():
    api = NextPlanApi()

    assert gate._open_review(api, gate._read_arguments(["--review", "7", "--cluster", "box", "--title", "T"])) == 7

    assert not hasattr(api, "path")


@pytest.mark.parametrize(
    "flags",
    [["--mode", "client"], ["--field-manager", "ci"], ["--preset", "shop"], ["--follow"], ["--patch-type", "json"]],
)
def test_review_keeps_how_it_is_applied(flags):
    with pytest.raises(gate.GateError, match="open a new one") as refused:
        gate._open_review(Api(), gate._read_arguments(["--review", "7", *flags]))

    assert refused.value.status == gate.NOT_ASKED
