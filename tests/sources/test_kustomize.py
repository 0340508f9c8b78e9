"""Kustomizations: what is refused before anything runs, and what the program gets to see."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from applyviz.engine.objects.errors import SourceError
from applyviz.sources.bundle import BundledFile, SourceBundle
from applyviz.sources.kustomize import RenderLimits, find_program, render


def tree(**files: str) -> SourceBundle:
    return SourceBundle.of(
        BundledFile(name.replace("__", "/").replace("_y", ".y"), text.encode()) for name, text in files.items()
    )


def refusal(kustomization: str, **files: str) -> str:
    with pytest.raises(SourceError) as caught:
        render(tree(kustomization_yaml=kustomization, **files), program=("/bin/false",))
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
        render(tree(a_yaml=""), program=("/bin/false",))


def test_broken_kustomization_is_refused_with_its_place() -> None:
    assert refusal("a: [").startswith("kustomization.yaml:2:1: YAML syntax")


def test_bases_that_refer_to_each_other_end() -> None:
    bundle = tree(a__kustomization_yaml="resources: [../b]", b__kustomization_yaml="resources: [../a]")

    with pytest.raises(SourceError, match="cannot be rendered"):
        render(bundle, "a", program=("/bin/false",))


def script(folder: Path, text: str) -> tuple[str, ...]:
    path = folder / "renderer.py"
    path.write_text(f"import os, sys, time\n{text}\n")
    return sys.executable, "-I", str(path)


def test_program_sees_a_private_copy_and_an_empty_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", "/secret/kubeconfig")
    program = script(
        tmp_path,
        "print(sorted(os.listdir('.')), sys.argv[1], os.environ['KUBECONFIG'], 'PATH' in os.environ, sorted("
        "set(os.environ) - {'LC_CTYPE'}), '/secret' in str(os.environ))",
    )

    file = render(tree(kustomization_yaml="resources: [a.yaml]", a_yaml="x: y"), program=program)

    assert file.data.decode() == (
        "['a.yaml', 'kustomization.yaml'] . /dev/null True"
        " ['HOME', 'KUBECONFIG', 'LANG', 'PATH', 'XDG_CONFIG_HOME'] False\n"
    )
    assert file.name == "kustomization.rendered.yaml"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("time.sleep(30)", "rendering took longer than 0.5 seconds"),
        ("sys.stdout.write('x' * 5000)", "rendering gives more than 1,000 bytes"),
        ("sys.exit('Error: ' + os.getcwd() + '/x')", "the kustomization cannot be rendered: Error: ./x"),
    ],
)
def test_program_is_held_to_its_limits(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(SourceError) as caught:
        render(
            tree(kustomization_yaml="{}"),
            program=script(tmp_path, text),
            limits=RenderLimits(seconds=0.5, output_bytes=1000),
        )

    assert str(caught.value) == said


def test_missing_program_is_said_plainly(tmp_path: Path) -> None:
    assert find_program(str(tmp_path)) == ()
    with pytest.raises(SourceError, match="need the program kustomize or kubectl on the server"):
        render(tree(kustomization_yaml="{}"), program=())


def test_kustomize_goes_before_kubectl(tmp_path: Path) -> None:
    for name in ("kubectl", "kustomize"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    assert find_program(str(tmp_path)) == (str(tmp_path / "kustomize"), "build")
    (tmp_path / "kustomize").unlink()
    assert find_program(str(tmp_path)) == (str(tmp_path / "kubectl"), "kustomize")
