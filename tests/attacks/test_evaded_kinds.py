"""Rules about kinds and namespaces are not evaded: by another group, or by deleting what objects go with."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import yaml
from pytest_django import DjangoDbBlocker

from applyviz.engine.manifests.documents import PatchType
from applyviz.engine.manifests.patch_documents import write_patch
from applyviz.engine.objects.kinds import list_kind_names
from applyviz.engine.objects.refs import ObjectRef
from applyviz.engine.requests.options import ApplyMode, Propagation, Prune, PruneMode, SetAction
from applyviz.records.enums import PlanState, Role
from applyviz.records.models import Plan, ReviewScope
from applyviz.workflow import policies
from applyviz.workflow.foundation import access
from applyviz.workflow.people import teams
from applyviz.workflow.policies.owners import OwnerOf, OwnerRule
from tests.blockers import name_blockers
from tests.builders import grant_role, make_person, make_policy, take_roles
from tests.shared_stories import SharedStory, share_story
from tests.stories import Team, config_map

pytestmark = [pytest.mark.attacks, pytest.mark.django_db]
DELETE = {"action": SetAction.DELETE}
GROUP = "shop.example.com"
NAMESPACE = "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n"
SETTINGS = config_map(a="1").replace("name: settings", "name: settings\n  namespace: shop")
NAMES = {"plural": "promotions", "singular": "promotion", "kind": "Promotion", "listKind": "PromotionList"}
SCHEMA = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
DEFINITION = yaml.safe_dump(
    {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"promotions.{GROUP}"},
        "spec": {
            "group": GROUP,
            "names": NAMES,
            "scope": "Namespaced",
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": SCHEMA}],
        },
    }
)
NARROW = {"namespace": "shop", "is_cluster_scoped": False}
EVENTS = [("v1", "involvedObject", "events.k8s.io"), ("events.k8s.io/v1", "regarding", "core")]


def write_event(version: str, about: str) -> str:
    metadata = {"name": "e", "namespace": "default", "labels": {"tone": "first"}}
    event = {"apiVersion": version, "kind": "Event", "metadata": metadata, "type": "Normal"}
    reporter = {"reportingController": "example.com/a", "reportingInstance": "a", "action": "a", "reason": "a"}
    strict = {"eventTime": "2026-11-01T00:00:00.000000Z", **reporter} if version != "v1" else {}
    return yaml.safe_dump({**event, **strict, about: {"kind": "Pod", "name": "a", "namespace": "default"}})


def list_teams(plan: Plan) -> list[str]:
    return [one.team for one in policies.find_demands(plan, policies.find_policy(plan)) if one.team]


def list_kept(plan: Plan) -> list[str]:
    return [text for text in name_blockers(plan) if "allow deleting" in text]


def own(pattern: str, **scope: object) -> None:
    root = make_person("root", Role.ADMINISTRATOR)
    teams.create_team(by=root, slug="owners", name="Owners")
    make_policy("owned", owners=(OwnerRule(OwnerOf.KIND, pattern, "owners"),), **scope)


@pytest.fixture(scope="module")
def played(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[SharedStory]:
    """A namespace and a definition exist."""

    def play(team: Team) -> None:
        team.apply(NAMESPACE)
        team.apply(SETTINGS, DEFINITION)

    yield from share_story(django_db_blocker, play)


@pytest.fixture
def shop(played: SharedStory, db: None, monkeypatch: pytest.MonkeyPatch) -> Team:
    """The same for one test."""
    return played.go_on(monkeypatch)


@pytest.fixture
def team(shop: Team) -> Team:
    """Tests that need neither share its people and its cluster."""
    return shop


@pytest.mark.core(1)
@pytest.mark.parametrize(("version", "about", "other"), EVENTS)
def test_another_group_of_the_same_objects_evades_no_rule(team: Team, version: str, about: str, other: str):
    event = write_event(version, about)
    created = team.plan(event)
    team.work(team.start(created))
    own(f"{other}/Event")
    make_policy(kept_kinds=(f"{other}/Event",), critical_kinds=(f"{other}/Event",))

    changed, deleted = team.plan(event.replace("first", "second")), team.plan(event, **DELETE)

    assert (list_teams(changed), list_teams(deleted)) == (["owners"], ["owners"])
    assert list_kept(deleted) == ["policy strict does not allow deleting Event/e"]
    assert ["critical-kind", "high"] in deleted.changes.get().risk_levels


@pytest.mark.core(1)
@pytest.mark.parametrize(
    ("excepted", "found"), [("events.k8s.io/Event", {"create"}), ("apps/Event", {"create", "prune"})]
)
def test_kind_that_prune_excepts_is_kept_in_each_of_its_groups(team: Team, excepted: str, found: set[str]):
    prune = Prune(PruneMode.ALLOWLIST, ("core/v1/Event",), is_all=True, excepted=(excepted,))
    team.apply(write_event(*EVENTS[0][:2]), mode=ApplyMode.CLIENT)

    plan = team.plan(config_map(a="1"), prune=prune, mode=ApplyMode.CLIENT)

    assert {row.operation for row in plan.changes.all()} == found


def test_groups_of_the_same_objects():
    assert list_kind_names("extensions", "Ingress") == {"networking.k8s.io/Ingress", "extensions/Ingress"}
    assert list_kind_names("", "Namespace") == {"core/Namespace", "project.openshift.io/Project"}
    assert list_kind_names("authorization.openshift.io", "Role") == {
        "authorization.openshift.io/Role",
        "rbac.authorization.k8s.io/Role",
    }
    assert list_kind_names("extensions", "Scale") == {"extensions/Scale"}


@pytest.mark.parametrize("text", [NAMESPACE, DEFINITION], ids=["namespace", "definition"])
def test_policy_of_a_namespace_covers_the_deletion_of_its_objects_with_it(shop: Team, text: str):
    make_policy(**NARROW, approvals=3)

    plan = shop.plan(text, **DELETE)

    policy = policies.find_policy(plan)
    assert [demand.approvals for demand in policies.find_demands(plan, policy)] == [3]
    assert policies.find_policies([plan])[plan.pk] == policy


@pytest.mark.parametrize(
    ("text", "pattern"),
    [(NAMESPACE, "core/ConfigMap"), (DEFINITION, f"{GROUP}/Promotion"), (DEFINITION, "*.example.com/*")],
    ids=["namespace", "definition", "pattern"],
)
def test_owners_are_asked_when_their_objects_go_with_another(shop: Team, text: str, pattern: str):
    own(pattern)

    assert list_teams(shop.plan(text, **DELETE)) == ["owners"]
    assert list_teams(shop.plan(text.replace("metadata: {", "metadata: {labels: {a: b}, "))) == []


def test_owners_of_other_kinds_are_not_asked_for_a_definition(shop: Team):
    own("other.example.com/Promotion")

    assert list_teams(shop.plan(DEFINITION, **DELETE)) == []


@pytest.mark.parametrize(
    ("text", "kind", "named"),
    [
        (NAMESPACE, "core/ConfigMap", "Namespace/shop"),
        (DEFINITION, f"{GROUP}/Promotion", f"CustomResourceDefinition/promotions.{GROUP}"),
        (DEFINITION, "*", f"CustomResourceDefinition/promotions.{GROUP}"),
    ],
    ids=["namespace", "definition", "every-kind"],
)
def test_what_a_kept_or_critical_kind_goes_with_is_kept_and_critical(shop: Team, text: str, kind: str, named: str):
    critical = () if kind == "*" else (kind,)
    make_policy(**NARROW, kept_kinds=(kind,), critical_kinds=critical)

    plan = shop.plan(text, **DELETE)

    assert list_kept(plan) == [f"policy strict does not allow deleting {named}"]
    assert (["critical-kind", "high"] in plan.changes.get().risk_levels) is bool(critical)


@pytest.mark.core(1)
@pytest.mark.parametrize("is_patch", [False, True])
def test_kept_object_gets_no_owner_with_which_it_would_be_deleted(team: Team, is_patch: bool):
    """No object has this uid, so the garbage collector deletes what it owns at once."""
    team.apply(config_map(a="1"))
    make_policy(kept_kinds=("core/ConfigMap",))
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "gone", "uid": "00000000-0000-0000-0000-000000000001"}
    changed = {"metadata": {"ownerReferences": [owner]}}
    target = ObjectRef.from_object(yaml.safe_load(config_map(a="1")))._replace(namespace="default")
    patch = write_patch(target, yaml.safe_dump(changed), patch_type=PatchType.MERGE, subresource="")
    manifest = yaml.safe_load(config_map(a="1"))
    manifest["metadata"] |= changed["metadata"]
    options = {"action": SetAction.PATCH} if is_patch else {}

    plan = team.plan(patch if is_patch else yaml.safe_dump(manifest), **options)

    assert ["gains-owner", "high"] in plan.changes.get().risk_levels
    assert list_kept(plan) == ["policy strict does not allow deleting ConfigMap/settings"]


OWNED = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "owned", "namespace": "default"}}


def name_owner(name: str, uid: str) -> dict[str, object]:
    return {"ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": uid}]}


def test_kept_object_gets_no_other_name_for_its_owner(team: Team):
    """The garbage collector looks an owner up by its name once it starts again: under another one there is none."""
    team.apply(config_map(a="1"))
    uid = team.live()["metadata"]["uid"]
    owned = [{**OWNED, "metadata": {**OWNED["metadata"], **name_owner(name, uid)}} for name in ("settings", "gone")]
    team.apply(yaml.safe_dump(owned[0]))
    make_policy(kept_kinds=("core/ConfigMap",))

    assert list_kept(team.plan(yaml.safe_dump(owned[1]))) == ["policy strict does not allow deleting ConfigMap/owned"]


@pytest.mark.core(1)
@pytest.mark.parametrize(("propagation", "is_kept"), [("Background", True), ("Foreground", True), ("Orphan", False)])
def test_kept_object_is_not_deleted_with_its_owner(team: Team, propagation: str, is_kept: bool):
    team.apply(config_map(a="1"))
    owner = name_owner("settings", team.live()["metadata"]["uid"])
    pod = {"image": "a", "name": "a"}
    team.apply(
        yaml.safe_dump(
            {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", **owner}, "spec": {"containers": [pod]}}
        )
    )
    make_policy(kept_kinds=("core/Pod",), critical_kinds=("core/Pod",))

    plan = team.plan(config_map(a="1"), **DELETE, propagation=Propagation(propagation))

    assert bool(list_kept(plan)) is is_kept
    assert (["critical-kind", "high"] in plan.changes.get().risk_levels) is is_kept


def write_stateful_set(**spec: object) -> dict[str, object]:
    labels = {"app": "db"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "db", "image": "db"}]}}
    claim = {
        "metadata": {"name": "data"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }
    common = {"serviceName": "db", "selector": {"matchLabels": labels}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "StatefulSet", "spec": {**common, "volumeClaimTemplates": [claim], **spec}}


JOB_SPEC = {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "a", "image": "a"}]}}}
RETAIN, ON_SCALE = ({"whenDeleted": "Retain", "whenScaled": one} for one in ("Retain", "Delete"))
VOLUME = {
    "apiVersion": "v1",
    "kind": "PersistentVolume",
    "spec": {
        "accessModes": ["ReadWriteOnce"],
        "capacity": {"storage": "1Gi"},
        "hostPath": {"path": "/data"},
        "persistentVolumeReclaimPolicy": "Retain",
    },
}
JOB = {"apiVersion": "batch/v1", "kind": "Job", "spec": JOB_SPEC}
CRON_JOB = {
    "apiVersion": "batch/v1",
    "kind": "CronJob",
    "spec": {"schedule": "@daily", "jobTemplate": {"spec": JOB_SPEC}},
}
SET = write_stateful_set(replicas=3, persistentVolumeClaimRetentionPolicy=RETAIN)
SCALED = write_stateful_set(replicas=3, persistentVolumeClaimRetentionPolicy=ON_SCALE)
ENDING = {
    "job": (JOB, {"ttlSecondsAfterFinished": 0}, "batch/Job"),
    "finished-jobs": (CRON_JOB, {"successfulJobsHistoryLimit": 0}, "batch/Job"),
    "failed-jobs": (CRON_JOB, {"failedJobsHistoryLimit": 0}, "batch/Job"),
    "claims": (SET, {"persistentVolumeClaimRetentionPolicy": ON_SCALE}, "core/PersistentVolumeClaim"),
    "scaled": (SCALED, {"replicas": 1}, "core/PersistentVolumeClaim"),
    "volume": (VOLUME, {"persistentVolumeReclaimPolicy": "Delete"}, "core/PersistentVolume"),
}


@pytest.mark.core(1)
@pytest.mark.parametrize(("obj", "changed", "kept"), ENDING.values(), ids=ENDING)
def test_no_field_lets_kubernetes_delete_kept_objects(
    team: Team, obj: dict[str, object], changed: dict[str, object], kept: str
):
    named = {**obj, "metadata": {"name": "x"}}
    team.apply(yaml.safe_dump(named))
    make_policy(kept_kinds=(kept,))

    plan = team.plan(yaml.safe_dump({**named, "spec": {**obj["spec"], **changed}}))
    same = team.plan(yaml.safe_dump({**named, "metadata": {"name": "x", "labels": {"a": "b"}}}))

    assert ["ends-objects", "high"] in plan.changes.get().risk_levels
    assert list_kept(plan) == [f"policy strict does not allow deleting {obj['kind']}/x"]
    assert list_kept(same) == []


@pytest.mark.parametrize(
    ("text", "namespace", "is_planned"),
    [
        (NAMESPACE, "default", False),
        (NAMESPACE, "[shop]", True),
        (DEFINITION, "default", False),
        (DEFINITION, "*", True),
    ],
)
def test_author_deletes_no_namespace_and_no_kind_beyond_their_scope(
    shop: Team, text: str, namespace: str, is_planned: bool
):
    """The right to objects of no namespace does not reach into the namespaces whose objects would go."""
    take_roles(shop.alice)
    for pattern in ("default", "shop") if namespace == "[shop]" else (namespace,):
        grant_role(shop.alice, Role.AUTHOR, namespace=pattern)

    plan = shop.plan(text, **DELETE)

    assert (plan.state == PlanState.COMPLETE) is is_planned


def test_approver_of_another_namespace_does_not_count_for_its_deletion(shop: Team):
    plan = shop.plan(NAMESPACE, **DELETE)
    take_roles(shop.bob)
    grant_role(shop.bob, Role.APPROVER, namespace="default")

    assert set(ReviewScope.objects.filter(review=plan.review).values_list("namespace", flat=True)) >= {"", "shop"}
    assert not access.can(shop.bob, access.Action.APPROVE, policies.list_scopes(plan))
