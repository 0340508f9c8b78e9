"""A channel is set apart from objects, and read entry by entry."""

import pytest

from applyviz.engine.channels.model import Addon, PrunedKind
from applyviz.engine.channels.reading import list_manifests, name_file, read_addons, take_channel_apart
from applyviz.engine.manifests.parse import parse_manifests

TEXT = """\
kind: Addons
metadata:
  name: bootstrap
spec:
  addons:
  - name: web
    namespace: shop
    id: k8s-1.30
    manifest: web/v1.yaml
    manifestHash: abc
    kubernetesVersion: ">=1.30.0"
    needsRollingUpdate: workers
    needsPKI: true
    selector: null
    version: 9.99.0
    prune:
      kinds:
      - kind: ConfigMap
        labelSelector: a=b
        fieldSelector: metadata.name=x
        namespaces: [shop]
      - group: apps
        kind: Deployment
  -
  - manifest: https://example.com/a/b.yaml
"""


def read(text, file="addons/channel.yaml"):
    parsed = take_channel_apart(parse_manifests(text.encode(), file))
    assert parsed.channel is not None
    return read_addons(parsed.channel)


def read_entry(entry):
    addons, problems = read("kind: Addons\nspec:\n  addons:\n  - " + entry)
    assert addons == ()
    (problem,) = problems
    return problem.reason


def test_entries_are_read_with_their_fields():
    addons, problems = read(TEXT)

    assert problems == ()
    web, unnamed = addons
    assert web == Addon(
        "web",
        "web/v1.yaml",
        "addons/web/v1.yaml",
        "shop",
        "k8s-1.30",
        "abc",
        ">=1.30.0",
        "workers",
        needs_pki=True,
        version="9.99.0",
        prune=(
            PrunedKind("", "ConfigMap", ("shop",), "a=b", "metadata.name=x"),
            PrunedKind("apps", "Deployment"),
        ),
        position=web.position,
    )
    assert (web.position.line, web.annotation) == (6, "addons.k8s.io/web")
    assert (unnamed.name, unnamed.namespace, unnamed.file) == ("bootstrap", "kube-system", "example.com/a/b.yaml")


def test_channel_is_no_problem_of_its_file_and_the_rest_stays():
    parsed = take_channel_apart(parse_manifests(f"{TEXT}---\nkind: ConfigMap\n".encode(), "c.yaml"))

    assert [problem.reason for problem in parsed.problems] == ["apiVersion not set"]
    assert parsed.channel is not None


def test_file_without_a_channel_is_unchanged():
    parsed = parse_manifests(b"kind: ConfigMap\n---\napiVersion: v1\nkind: Addons\nmetadata: {name: a}\n", "c.yaml")

    assert take_channel_apart(parsed) is parsed


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ("5", "spec.addons[0] must be an object"),
        ("{manifest: a}", "spec.addons[0].name needs a name"),
        ("{name: a}", "spec.addons[0].manifest is missing: it names the file of the addon"),
        ("{name: a, manifest: 5}", "spec.addons[0].manifest must be text"),
        ("{name: a, manifest: 'http://['}", "spec.addons[0].manifest must be a path or an address"),
        ("{name: a, manifest: b, needsPKI: 5}", "spec.addons[0].needsPKI must be true or false"),
        (
            "{name: a, manifest: b, needsRollingUpdate: some}",
            "spec.addons[0].needsRollingUpdate must be one of control-plane, workers, all",
        ),
        (
            "{name: a, manifest: b, version: soon}",
            "spec.addons[0].version must be a semantic version: soon is not a version",
        ),
        (
            "{name: a b, manifest: c}",
            "spec.addons[0].name must be letters, digits, '-', '_' and '.', at most 63, "
            "as it names the annotation of the addon",
        ),
        (
            "{name: a, manifest: b, namespace: kube_system}",
            "spec.addons[0].namespace must be the name of a namespace: its annotation records the addon",
        ),
        ("{name: a, manifest: b, prune: 5}", "spec.addons[0].prune must be an object"),
        ("{name: a, manifest: b, prune: {kinds: 5}}", "spec.addons[0].prune.kinds must be a list"),
        ("{name: a, manifest: b, prune: {kinds: [5]}}", "spec.addons[0].prune.kinds[0] must be an object"),
        (
            "{name: a, manifest: b, prune: {kinds: [{group: apps}]}}",
            "spec.addons[0].prune.kinds[0] needs a kind, and namespaces as texts",
        ),
        (
            "{name: a, manifest: b, prune: {kinds: [{kind: A, namespaces: [5]}]}}",
            "spec.addons[0].prune.kinds[0] needs a kind, and namespaces as texts",
        ),
    ],
)
def test_entry_with_a_wrong_field_is_a_problem(entry, reason):
    assert read_entry(entry) == reason


def test_other_entries_are_read_beside_a_wrong_one():
    addons, problems = read("kind: Addons\nmetadata: {name: 5}\nspec:\n  addons: [5, {name: a, manifest: b}]\n")

    assert [addon.name for addon in addons] == ["a"]
    assert [(problem.reason, problem.position.line) for problem in problems] == [
        ("spec.addons[0] must be an object", 4)
    ]


def test_channel_without_a_list_is_a_problem():
    assert [problem.reason for problem in read("kind: Addons\n")[1]] == ["spec.addons must be the list of addons"]


@pytest.mark.parametrize(
    ("channel", "manifest", "name"),
    [
        ("channel.yaml", "web/v1.yaml", "web/v1.yaml"),
        ("a/channel.yaml", "../web/./v1.yaml", "web/v1.yaml"),
        ("channel.yaml", "../../v1.yaml", "v1.yaml"),
        ("a/channel.yaml", "https://example.com/x/v1.yaml?token=1", "example.com/x/v1.yaml"),
    ],
)
def test_file_of_an_addon_is_named_from_its_channel(channel, manifest, name):
    assert name_file(channel, manifest) == name


def test_files_of_a_channel_are_those_of_all_its_entries_also_of_wrong_ones():
    entries = "[5, {name: a}, {manifest: ''}, {manifest: 7}, {name: a b, manifest: b.yaml}, {manifest: 'http://['}]"
    channel = take_channel_apart(parse_manifests(f"kind: Addons\nspec: {{addons: {entries}}}\n".encode(), "x/c.yaml"))

    assert list_manifests(channel.channel) == {"x/b.yaml"}


def test_channel_without_entries_names_no_files():
    channel = take_channel_apart(parse_manifests(b"kind: Addons\nspec: {addons: 5}\n", "c.yaml")).channel

    assert list_manifests(channel) == frozenset()


def test_pruned_kind_is_titled_as_kubectl_names_it():
    assert PrunedKind("apps", "Deployment").title == "Deployment.apps"
    assert PrunedKind("", "ConfigMap").title == "ConfigMap"
