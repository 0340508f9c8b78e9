"""The playground answers as the guide does, field owners are read from lines, and no secret is kept."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from applyviz.engine.diff.yaml_text import render_yaml
from applyviz.engine.explain.reasons import FieldOperation
from applyviz.engine.manifests.parse import parse_manifests
from applyviz.engine.objects.known_names import LAST_APPLIED
from applyviz.engine.objects.paths import render_path
from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.objects.structs import replace
from applyviz.engine.ownership.managed_fields import read_owners
from applyviz.engine.planning.model.plan import Certainty, Operation
from applyviz.engine.requests.options import ApplyMode
from applyviz.engine.schema.builtin import bundled
from applyviz.guide import library, playground
from applyviz.guide.abridging import abridge
from applyviz.guide.answers import compute_answers, read_object
from applyviz.guide.given import PlaygroundQuery, PlaygroundQueryError, PlaygroundQueryProblem
from applyviz.guide.opening import open_example
from applyviz.guide.owned import own_fields
from applyviz.guide.pages import PagePart

NOW = "2026-06-01T00:00:00Z"
ASKED = {name: e for name, e in library.list_examples().items() if not e.steps or e.steps[-1].part is PagePart.APPLY}
DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop, labels: {app.kubernetes.io/name: web}}
spec:
  replicas: 2
  selector: {matchLabels: {a: b}}
  template: {metadata: {labels: {a: b}}, spec: {containers: [{name: "a b", image: "x:1"}]}}
"""


SERVERS = ("managedFields", "creationTimestamp", "resourceVersion", "generation")
WRITTEN = (PagePart.LIVE, PagePart.MANIFEST, PagePart.APPLY, PagePart.UPDATE)


def strip(obj):
    """An object without what only bookkeeping writes and without what nobody set."""
    metadata = {k: v for k, v in obj["metadata"].items() if k not in SERVERS}
    annotations = {k: v for k, v in metadata.pop("annotations", {}).items() if k != LAST_APPLIED}
    metadata |= {"annotations": annotations} if annotations else {}
    return {k: v for k, v in {**obj, "metadata": metadata}.items() if k != "status" or v}


def show(change, example):
    """The object after an apply, as an example shows it: without what the server had filled in before."""
    written = tuple(
        read_object(b.text, b.part)
        for b in example.blocks
        if b.part in WRITTEN and not b.text.startswith("kind: Patch")
    )
    kind = bundled().find_kind(change.ref.gvk)
    return abridge(change.versions.after, known=written, before=change.versions.live, kind=kind)


@pytest.mark.parametrize("name", ASKED)
def test_playground_answers_as_the_guide(name):
    wanted = compute_answers(ASKED[name])

    change = playground.explain(open_example(ASKED[name]), now=NOW)

    if wanted.refused:
        assert change.operation is Operation.ERROR
        assert change.error.startswith(wanted.refused)
        return
    is_calculated = change.certainty is Certainty.ESTIMATED
    assert is_calculated or change.operation is Operation.UNCHANGED  # where nothing is sent, nothing can be wrong
    if wanted.conflicts:
        assert change.operation is Operation.BLOCKED
        assert sorted(f"{c.message}: {render_path(c.path)}" for c in change.conflicts) == list(wanted.conflicts)
    else:
        assert strip(show(change, ASKED[name])) == strip(wanted.after)


def test_examples_of_both_ways_are_asked():
    modes = [open_example(e).mode for e in ASKED.values()]

    assert min(modes.count(ApplyMode.CLIENT), modes.count(ApplyMode.SERVER)) >= 10


def own(text: str):
    live = read_object(DEPLOYMENT, "live")
    return own_fields(live, text, kind=bundled().find_kind(GroupVersionKind.from_object(live)))


def test_lines_become_managed_fields():
    lines = (
        'shop: .metadata.labels.app.kubernetes.io/name .spec.template.spec.containers[name="a b"].image\n'
        "\n"
        "kube-controller-manager (Update scale): [.spec.replicas]\n"
        "team:blue (Update): spec.replicas, .spec.template\n"
    )

    obj, problems = own(lines)

    assert problems == ()
    found = [
        (e.owner.manager, e.owner.operation, e.owner.subresource, sorted(render_path(p) for p in e.fields))
        for e in read_owners(obj).entries
    ]
    image = '.spec.template.spec.containers[name="a b"].image'
    assert found == [
        ("shop", "Apply", "", [".metadata.labels.app.kubernetes.io/name", image]),
        ("kube-controller-manager", "Update", "scale", [".spec.replicas"]),
        ("team:blue", "Update", "", [".spec.replicas", ".spec.template"]),
    ]


def test_every_line_that_cannot_be_used_is_told():
    _obj, problems = own("no colon here\nshop: .spec.nothing .spec.replicas .spec.paused\n")

    assert problems == (
        PlaygroundQueryProblem("owners", "line 1: expected `manager (Apply): .path .path`, got no colon here"),
        PlaygroundQueryProblem("owners", "line 2: live has no field .spec.nothing"),
        PlaygroundQueryProblem("owners", "line 2: live has no field .spec.paused"),
    )


def test_map_that_the_server_leaves_out_when_it_is_empty_can_have_an_owner():
    obj, problems = own("shop: .metadata.annotations .spec.template.spec.nodeSelector\n")

    assert problems == ()
    (entry,) = read_owners(obj).entries
    assert sorted(map(render_path, entry.fields)) == [".metadata.annotations", ".spec.template.spec.nodeSelector"]


def test_no_lines_leave_managed_fields_alone():
    managed = {"apiVersion": "v1", "metadata": {"name": "x", "managedFields": [{"manager": "m"}]}}

    assert own_fields(managed, "\n", kind=None) == (managed, ())


def test_what_is_kept_holds_no_secret():
    secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\n# pass: hunter2\ndata: {pass: aHVudGVyMg==}\n"
    env = DEPLOYMENT.replace('"a b"', "web").replace(
        'image: "x:1"', 'env: [{name: DB_PASSWORD, value: hunter2}], image: "x:1"'
    )

    kept = [playground.without_secrets(PlaygroundQuery(manifest=text, live=text)) for text in (secret, env)]

    assert ["hunter2" in str(k) or "aHVud" in str(k) for k in kept] == [False, False]
    assert [k.manifest == k.live for k in kept] == [True, True]
    assert [playground.explain(k, now=NOW).operation for k in kept] == [Operation.UPDATE, Operation.UPDATE]


def test_text_without_a_secret_is_kept_as_it_was_written():
    asked = PlaygroundQuery(manifest="# mine\n" + DEPLOYMENT)

    assert playground.without_secrets(asked) == asked


def test_question_survives_its_way_through_json():
    asked = PlaygroundQuery(manifest="a", crds="b", mode=ApplyMode.CLIENT, is_forced=True)

    assert PlaygroundQuery.from_json(asked.to_json()) == asked


def test_text_that_is_too_large_is_refused():
    with pytest.raises(PlaygroundQueryError) as found:
        playground.read(PlaygroundQuery(manifest="a: " + "x" * 300_000))

    assert [p.part for p in found.value.problems] == ["manifest"]
    assert "larger than" in str(found.value)


def test_bomb_is_refused():
    bomb = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
        f"{chr(98 + n)}: &{chr(98 + n)} [{','.join([f'*{chr(97 + n)}'] * 9)}]\n" for n in range(9)
    )

    with pytest.raises(PlaygroundQueryError) as found:
        playground.read(PlaygroundQuery(manifest=bomb))

    assert [p.part for p in found.value.problems] == ["manifest"]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(st.characters(exclude_categories=["Cs"])),
    lambda below: (
        st.lists(below, max_size=3) | st.dictionaries(st.text("abcxyz019.-:# ", min_size=1), below, max_size=3)
    ),
    max_leaves=8,
)


@given(VALUES)
def test_text_that_is_written_anew_reads_as_the_same(value):
    obj = {"apiVersion": "example.com/v1", "kind": "Box", "metadata": {"name": "x"}, "spec": {"held": value}}

    parsed = parse_manifests(render_yaml(None, obj).encode(), "x")

    assert [d.obj for d in parsed.documents] == [obj]


def test_field_that_the_server_would_choose_is_no_row_of_a_blocked_object():
    head = "apiVersion: v1\nkind: Service\nmetadata: {name: web, namespace: shop}\n"
    live = "spec: {type: ClusterIP, clusterIP: 10.0.0.1, sessionAffinity: None, ports: [{port: 80, targetPort: 80}]}\n"
    asked = PlaygroundQuery(
        f"{head}spec: {{type: NodePort, sessionAffinity: ClientIP, ports: [{{port: 80, nodePort: 0}}]}}\n",
        head + live,
        owners="kubectl (Apply): .spec.type\nother (Update): .spec.sessionAffinity",
        mode=ApplyMode.SERVER,
        field_manager="kubectl",
    )

    blocked, forced = (playground.explain(replace(asked, is_forced=forced), now=NOW) for forced in (False, True))

    chosen = [[r for r in one.fields if r.operation is FieldOperation.ALLOCATED] for one in (blocked, forced)]
    assert (blocked.operation, [len(rows) for rows in chosen]) == (Operation.BLOCKED, [0, 1])
