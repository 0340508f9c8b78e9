"""Every rule by its cases (`tests/cases/risks`): which risks, how loud, where, in which words."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

from applyviz.engine.manifests.parse import parse_manifests
from applyviz.engine.objects.paths import render_path
from applyviz.engine.objects.refs import GroupVersionKind, ObjectRef
from applyviz.engine.risks.autoscaled import AUTOSCALED_FIELD
from applyviz.engine.risks.model import KINDS, RelatedObjects, Risk, RiskLevel, RiskSubject
from applyviz.engine.risks.planning.ownership import FORCED
from applyviz.engine.risks.planning.whole import MANY_OBJECTS
from applyviz.engine.risks.pruning import find_changed_choices, find_narrowed, find_prune_risks
from applyviz.engine.risks.restarts import PODS_RESTART
from applyviz.engine.risks.rules import find_risks, needs_acknowledgment
from applyviz.engine.risks.sentences import render_risk, title, title_of
from applyviz.engine.risks.set_context import SECRET_CONTENT
from applyviz.engine.risks.topology import TOPOLOGY_CHANGED
from applyviz.engine.schema.builtin import bundled
from applyviz.engine.schema.crds import CRDSource
from applyviz.engine.schema.model import SchemaOrigin
from tests.engine.risks.widgets import WIDGETS
from tests.yaml_files import read_yaml

CASES = Path(__file__).parents[2] / "cases" / "risks"
NAMED = ("manifest", "last_applied", "live", "merged", "after", "patch", "is_server_side", "is_namespaced")


def load_cases() -> list[dict[str, Any]]:
    return [case for path in sorted(CASES.glob("*.yaml")) for case in read_yaml(path)]


def make_subject(case: dict[str, Any]) -> RiskSubject:
    named = {key: case[key] for key in NAMED if key in case}
    if "text" in case:
        (document,) = parse_manifests(case["text"].encode(), "case.yaml").documents
        named |= {"manifest": document.obj, "document": document}
    beside = case.get("related", {})
    about = named.get("manifest") or case["ref"]
    return RiskSubject(
        ObjectRef.from_object(about),
        **named,
        field_manager=case.get("manager", "applyviz"),
        kind=bundled().find_kind(GroupVersionKind.from_object(about)),
        related=RelatedObjects(tuple(beside.get("manifests", ())), tuple(beside.get("live", ()))),
        applyset=case.get("applyset", ""),
        resource_versions=tuple(case.get("resource_versions", ())),
        plural=case.get("plural", ""),
        dry_run_answer=case.get("dry_run_answer", ""),
        is_merge_only=case.get("is_merge_only", False),
        is_forced=case.get("is_forced", False),
        is_unchanged=case.get("is_unchanged", False),
        refused_fields=tuple(case.get("refused_fields", ())),
    )


@pytest.mark.parametrize("spec", [1, "text", ["replicas"], None, True])
def test_spec_that_is_no_map_names_no_field(spec):
    about = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}}
    subject = RiskSubject(
        ObjectRef.from_object(about),
        manifest={**about, "spec": spec},
        last_applied={**about, "spec": spec},
        live={**about, "spec": {"replicas": 3}},
        merged=about,
        after=about,
    )

    assert AUTOSCALED_FIELD in {risk.kind for risk in find_risks(subject)}


@pytest.mark.parametrize("case", load_cases(), ids=lambda case: case["about"])
def test_change_has_the_risks_of_its_case(case: dict[str, Any]) -> None:
    found = find_risks(make_subject(case))

    shown = []
    for risk in found:
        where = render_path(risk.path)
        sentence = render_risk(risk).removeprefix(f"{where}: ") if where else render_risk(risk)
        shown.append([risk.kind.slug, risk.level.value, where, sentence])
    assert shown == case["expect"]


def test_risk_of_a_file_has_its_line() -> None:
    case = {"text": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata:\n  a: yes\n"}

    (risk,) = find_risks(make_subject(case))

    assert str(risk.position) == "case.yaml:5:6"


def test_high_risks_are_acknowledged_and_nothing_else() -> None:
    asked = [needs_acknowledgment(Risk(SECRET_CONTENT, level)) for level in RiskLevel]

    assert asked == [level is RiskLevel.HIGH for level in RiskLevel]


def test_every_kind_has_a_title() -> None:
    assert all(title(kind) for kind in KINDS.values())


def test_high_risk_may_have_a_title_of_its_own() -> None:
    assert title(PODS_RESTART) == "Pods restart"
    assert title_of(Risk(PODS_RESTART, RiskLevel.HIGH)) == "Downtime"


def test_every_kind_has_a_sentence_without_what_only_other_facts_say() -> None:
    many = Risk(MANY_OBJECTS, RiskLevel.HIGH, facts={"count": "60", "limit": "50"})
    forced = [Risk(FORCED, RiskLevel.HIGH, facts=facts) for facts in ({}, {"owners": "x, y"})]

    assert [render_risk(risk) for risk in (many, *forced)] == [
        "60 objects change in one run; the policy limit for a large change is 50.",
        "The request is sent with force-conflicts but overwrites no field of another manager.",
        "The request overwrites fields of x, y (force-conflicts).",
    ]


def test_annotations_beyond_the_limit_are_found() -> None:
    manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a": "x" * 270_000}}
    subject = RiskSubject(ObjectRef.from_object(manifest), manifest=manifest, merged=manifest, is_server_side=False)

    (risk,) = find_risks(subject)

    assert render_risk(risk).startswith(
        ".metadata.annotations.kubectl.kubernetes.io/last-applied-configuration: The annotations take 270,"
    )


def test_owners_of_parts_of_what_is_one_value_now_are_told_once() -> None:
    owned = {
        ".": {},
        "f:whole": {'v:"a"': {}},
        "f:fixed": {"f:a": {}},
        "f:parts": {'k:{"name":"x"}': {".": {}, "f:tags": {"i:0": {}}}, "odd": None},
        "f:gone": {"f:a": {}},
        "f:free": {"f:a": {}},
    }
    live = {
        "apiVersion": "example.com/v1",
        "kind": "Widget",
        "metadata": {"name": "w", "managedFields": [{"manager": m, "fieldsV1": {"f:spec": owned}} for m in "ab"]},
    }
    kind = CRDSource([WIDGETS], origin=SchemaOrigin.SOURCE_CRD).find_kind(GroupVersionKind.from_object(live))

    found = find_risks(RiskSubject(ObjectRef.from_object(live), live=live, kind=kind))

    assert [(risk.kind, render_path(risk.path), risk.facts["manager"]) for risk in found] == [
        (TOPOLOGY_CHANGED, ".spec.whole", "a"),
        (TOPOLOGY_CHANGED, ".spec.fixed", "a"),
        (TOPOLOGY_CHANGED, '.spec.parts[name="x"].tags', "a"),
    ]
    assert render_risk(found[0]) == (
        ".spec.whole: a owns this under an older schema (granular to atomic):"
        " managers that own parts of it now conflict over the whole."
    )


def test_owner_of_a_whole_that_is_parts_now_is_told() -> None:
    live = {
        "apiVersion": "example.com/v1",
        "kind": "Widget",
        "metadata": {
            "name": "w",
            "managedFields": [
                {"manager": "a", "fieldsV1": {"f:spec": {"f:parts": {}, "f:shared": {}, "f:empty": {}, "f:gone": {}}}},
                {"manager": "b", "fieldsV1": {"f:spec": {"f:shared": {"f:x": {}}}}},
                {"manager": "c"},
            ],
        },
        "spec": {"parts": [{"name": "x"}], "shared": {"x": "1"}, "empty": {}},
    }
    widgets = copy.deepcopy(WIDGETS)
    spec = widgets["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    spec |= {key: {"type": "object", "additionalProperties": {"type": "string"}} for key in ("shared", "empty", "gone")}
    kind = CRDSource([widgets], origin=SchemaOrigin.SOURCE_CRD).find_kind(GroupVersionKind.from_object(live))

    (risk,) = find_risks(RiskSubject(ObjectRef.from_object(live), live=live, kind=kind))

    assert render_risk(risk) == (
        ".spec.parts: a owns this under an older schema (atomic to granular):"
        " removed entries are kept, and other managers can add entries."
    )


def test_unknown_conversion_is_told_where_fields_are_owned_at_another_version() -> None:
    widgets = copy.deepcopy(WIDGETS)
    widgets["spec"]["versions"].append({**widgets["spec"]["versions"][0], "name": "v2"})
    live = {
        "apiVersion": "example.com/v1",
        "kind": "Widget",
        "metadata": {"name": "w", "managedFields": [{"manager": "a", "apiVersion": "example.com/v2"}]},
    }
    kind = CRDSource([widgets]).find_kind(GroupVersionKind.from_object(live))
    told = {"kind": kind, "dry_run_answer": "no dry run was asked for"}

    (risk,) = find_risks(RiskSubject(ObjectRef.from_object(live), manifest=live, live=live, **told))

    assert render_risk(risk) == (
        ".apiVersion: The conversion of Widget between v1, v2 is unknown:"
        " the estimate assumes that fields owned at example.com/v2 have the same names."
    )
    assert find_risks(RiskSubject(ObjectRef.from_object(live), manifest=live, **told)) == ()


def test_prune_of_a_large_share_and_of_a_namespace_is_told() -> None:
    refs = [ObjectRef(GroupVersionKind("", "v1", "ConfigMap"), "n", str(n)) for n in range(3)]
    refs.append(ObjectRef(GroupVersionKind("", "v1", "Namespace"), "", "shop"))

    found = find_prune_risks(refs, 10)

    assert [render_risk(risk) for risk in found] == [
        "Prune would delete Namespace shop and everything in it or dependent on it.",
        "Prune would delete 4 of the 10 live objects of this set.",
    ]
    assert find_prune_risks(refs[:3], 100) == ()
    assert [risk.facts for risk in find_prune_risks(refs[:1] * 20, 500)] == [{"pruned": "20", "members": "500"}]


def test_choices_that_changed_since_the_last_prune_are_told() -> None:
    one, other = {"The selector": "app=a", "The allowlist": "kubectl's"}, {"The selector": "app=b"}

    found = [*find_changed_choices("7", one, other)]

    assert [render_risk(risk) for risk in found] == [
        "The selector was app=a in run 7 and is now app=b, so different objects are pruned."
    ]
    assert [*find_changed_choices("7", one, one)] == []


@pytest.mark.parametrize(
    ("before", "now", "folder"),
    [
        (("web/a.yaml", "web/b.yaml", "db/a.yaml"), ("a.yaml", "b.yaml"), "web"),
        (("x/web/a.yaml", "x/db/a.yaml"), ("web/a.yaml",), ""),
        (("x/web/a.yaml", "y/a.yaml"), ("web/a.yaml",), "x"),
        (("web/a.yaml", "web/c.yaml"), ("a.yaml", "b.yaml"), ""),
        (("web/a.yaml", "db/a.yaml"), (), ""),
        (("web/a.yaml", "web/b.yaml", "db/a.yaml"), ("0-new.yaml", "a.yaml", "b.yaml"), "web"),
        (("web/a.yaml", "web/b.yaml", "db/a.yaml"), ("b.yaml", "new.yaml", "other.yaml"), ""),
        (("web/a.yaml", "a.yaml"), ("a.yaml",), ""),
        (("x/web/a.yaml", "x/db/a.yaml"), ("x/web/a.yaml", "x/web/new.yaml"), "x/web"),
        (("x/web/a.yaml", "x/db/a.yaml"), ("x/web/a.yaml", "x/other/a.yaml"), ""),
        (("x/web/a.yaml", "x/db/a.yaml"), ("x/web/b.yaml",), ""),
    ],
)
def test_set_that_was_one_folder_of_the_last_run_is_told(before, now, folder) -> None:
    found = [*find_narrowed("7", files_before=before, files=now)]

    assert [risk.facts["folder"] for risk in found] == ([folder] if folder else [])
    assert all("folder web" in render_risk(r) or "folder x" in render_risk(r) for r in found)


@pytest.mark.parametrize("odd", ["9" * 5000 + "%", "\xb2%"])
def test_percentage_that_no_server_reads_is_none(odd: str) -> None:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": odd, "maxUnavailable": odd}}
    spec = {"replicas": 2, "selector": {"matchLabels": {"a": "b"}}, "strategy": strategy, "template": template}
    live = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d", "namespace": "n"}, "spec": spec}
    changed = copy.deepcopy(live)
    changed["spec"]["template"]["spec"]["containers"][0]["image"] = "j"

    found = find_risks(make_subject({"manifest": changed, "live": live, "merged": changed}))

    assert PODS_RESTART in [risk.kind for risk in found]
