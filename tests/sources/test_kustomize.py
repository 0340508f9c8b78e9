"""Kustomizations: what is refused before anything runs, and what the program gets to see."""

from __future__ import annotations

import pytest

from applyviz.engine.objects.errors import SourceError
from applyviz.sources.bundle import BundledFile, SourceBundle
from applyviz.sources.kustomize import render
from applyviz.sources.rendering.job import KUSTOMIZE, Rendered, RenderJob, RenderLimits


def tree(**files: str) -> SourceBundle:
    return SourceBundle.of(
        BundledFile(name.replace("__", "/").replace("_y", ".y"), text.encode()) for name, text in files.items()
    )


def fail(job: RenderJob, limits: RenderLimits) -> Rendered:
    return Rendered(1, b"", "it failed")


def refusal(kustomization: str, **files: str) -> str:
    with pytest.raises(SourceError) as caught:
        render(tree(kustomization_yaml=kustomization, **files), run=fail)
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("resources: [https://example.com/x]", "resources: https://example.com/x is not in the tree"),
        ("resources: ['github.com/a/b?ref=c']", "resources: github.com/a/b?ref=c is not in the tree"),
        ("resources: ['git@example.com:a/b']", "resources: git@example.com:a/b is not in the tree"),
        ("resources: ['git::https://x//y']", "resources: git::https://x//y is not in the tree"),
        ("bases: [../up]", "bases: ../up leads out of the tree"),
        ("components: [/etc]", "components: /etc is no path within the tree"),
        ("resources: ['--enable-helm']", "resources: --enable-helm is no path within the tree"),
        ("resources: ['a\\b']", "resources: a\\b is no path within the tree"),
        ("patches: [{path: ../p.yaml}]", "patches: ../p.yaml leads out of the tree"),
        ("replacements: [{path: https://x/y}]", "replacements: https://x/y is not in the tree"),
        ("openapi: {path: /etc/passwd}", "openapi: /etc/passwd is no path within the tree"),
        (
            "configMapGenerator: [{name: a, files: ['k=/etc/passwd']}]",
            "configMapGenerator: /etc/passwd is no path within the tree",
        ),
        ("secretGenerator: [{name: a, envs: [../e]}]", "secretGenerator: ../e leads out of the tree"),
        ("generators: [http://x/y]", "generators: http://x/y is not in the tree"),
        ("crds: [c.yaml]", "crds: c.yaml is not in the tree"),
    ],
)
def test_references_out_of_the_tree_are_refused(text: str, said: str) -> None:
    assert refusal(text).removesuffix(" (nothing remote is fetched)") == f"kustomization.yaml: {said}"


def test_file_that_our_reader_refuses_reaches_no_program() -> None:
    """Aliases in a resource took 7 GiB of the program; patches and generators are read as well."""
    aliases = "k0: &k0 [x]\n" + "".join(f"k{n}: &k{n} [{', '.join([f'*k{n - 1}'] * 20)}]\n" for n in range(1, 12))

    said = refusal("resources: [r.yaml]", r_yaml=aliases)
    assert said == "r.yaml:4:25: document contains excessive aliasing"
    assert "excessive aliasing" in refusal("patches: [{path: p.yaml}]", p_yaml=aliases)


@pytest.mark.parametrize("field", ["helmCharts", "helmChartInflationGenerator", "helmGlobals"])
def test_helm_is_refused(field: str) -> None:
    assert refusal(f"{field}: []") == f"kustomization.yaml: {field} runs Helm, which is not done here"


def test_functions_are_refused() -> None:
    function = "metadata: {annotations: {config.kubernetes.io/function: 'exec: {path: ./x}'}}"

    said = refusal("transformers: [f.yaml]", f_yaml=function)

    assert said == "f.yaml: functions run programs, which is not done here"


def test_bases_are_checked_too_and_every_problem_is_named() -> None:
    said = refusal("resources: [base, gone.yaml]", base__kustomization_yaml="resources: [https://x/y]")

    assert said == (
        "base/kustomization.yaml: resources: https://x/y is not in the tree (nothing remote is fetched); "
        "kustomization.yaml: resources: gone.yaml is not in the tree (nothing remote is fetched)"
    )


def test_folder_without_kustomization_is_refused() -> None:
    with pytest.raises(SourceError, match=r"\.: no kustomization file"):
        render(tree(a_yaml=""), run=fail)


def test_broken_kustomization_is_refused_with_its_place() -> None:
    assert refusal("a: [").startswith("kustomization.yaml:2:1: YAML syntax")


def test_bases_that_refer_to_each_other_end() -> None:
    bundle = tree(a__kustomization_yaml="resources: [../b]", b__kustomization_yaml="resources: [../a]")

    with pytest.raises(SourceError, match="cannot be rendered"):
        render(bundle, "a", run=fail)


def test_program_gets_the_tree_and_its_folder() -> None:
    asked: list[RenderJob] = []

    def run(job: RenderJob, limits: RenderLimits) -> Rendered:
        asked.append(job)
        return Rendered(0, b"x: y\n", "")

    file = render(tree(prod__kustomization_yaml="resources: [a.yaml]", prod__a_yaml="x: y"), "prod", run=run)

    files = (("prod/kustomization.yaml", b"resources: [a.yaml]"), ("prod/a.yaml", b"x: y"))
    assert asked == [RenderJob(KUSTOMIZE, ("./prod",), files)]
    assert (file.name, file.data) == ("prod.rendered.yaml", b"x: y\n")
    assert file.provenance == {"from": "kustomize", "folder": "prod", "program": "kustomize"}


def test_refusal_of_the_program_is_told() -> None:
    with pytest.raises(SourceError) as caught:
        render(tree(kustomization_yaml="{}"), run=lambda *_: Rendered(1, b"", "warning\nError: no such field\n"))

    assert str(caught.value) == "the kustomization cannot be rendered: Error: no such field"
