"""Each guard rail of a deletion is a risk that must be acknowledged, and a risk of which a policy may ask for more."""

from __future__ import annotations

import pytest
import yaml

from applyviz.engine.requests.options import ApplyMode, Prune, PruneMode, Replacement, SetAction
from applyviz.engine.risks.model import find_kind
from applyviz.workflow.approvals import acknowledgments
from applyviz.workflow.foundation.grant_scopes import Scope
from applyviz.workflow.plans import planner
from applyviz.workflow.policies import editing
from applyviz.workflow.policies.rules import RiskDemand, Rules
from tests.builders import make_policy
from tests.stories import Team

pytestmark = pytest.mark.django_db
ALL = Prune(PruneMode.ALLOWLIST, is_all=True)
KEPT = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: kept}\n"
SERVICE = "apiVersion: v1\nkind: Service\nmetadata: {name: served}\nspec: {ports: [{port: 80}]}\n"
READ = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: read}\ndata: {a: x}\n"
HELMED = (
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: helmed, annotations: {meta.helm.sh/release-name: shop}}\n"
    "immutable: true\ndata: {a: x}\n"
)
CLAIM = (
    "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\n"
    "spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}\n"
)
WEBHOOK = """apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: checks}
webhooks:
- name: a.example.com
  admissionReviewVersions: [v1]
  sideEffects: None
  clientConfig: {url: "https://checks.example.com"}
  rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]
"""
BESIDE = """apiVersion: v1
kind: Pod
metadata: {name: reader}
spec: {containers: [{name: c, image: i, envFrom: [{configMapRef: {name: read}}]}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: served-1, labels: {kubernetes.io/service-name: served}}
addressType: IPv4
ports: []
endpoints: [{addresses: [10.1.0.1], conditions: {ready: true}}]
"""
DROPPED = (SERVICE, READ, HELMED, CLAIM, WEBHOOK)
OF_ALL = {"in-use", "dangling-reference", "belongs-to-other", "data-lost", "critical-kind"}


@pytest.fixture
def team(monkeypatch):
    found = Team().wire_up(monkeypatch)
    found.apply(BESIDE)
    return found


def plan_files(team, files, **options):
    review = team.review(files, mode=ApplyMode.CLIENT, **options)
    planner.make_plan(review.plans.get().pk)
    return review.plans.get()


def find_guards(plan):
    """The kinds of risks to acknowledge of a plan for which a policy can ask for a third approval."""
    kinds = {risk.kind for risk in acknowledgments.find_open(plan)}
    found = set()
    for kind in kinds:
        draft = Rules(for_risks=(RiskDemand(kind, 3),))
        demands = editing.evaluate(plan, slug="draft", scope=Scope(), rules=draft).demands
        found |= {kind.slug} if max(demand.approvals for demand in demands) == 3 else set()
    return found


def test_guard_rails_of_a_prune(team):
    make_policy(critical_kinds=("core/Service",))
    files = {f"web/{n}.yaml": text for n, text in enumerate((KEPT, *DROPPED[:4]))}
    team.work(team.start(plan_files(team, files)))

    plan = plan_files(team, {"0.yaml": KEPT, "beside/1.yaml": KEPT.replace("kept", "new")}, prune=ALL)

    assert sorted(plan.changes.filter(operation="prune").values_list("name", flat=True)) == [
        "data", "helmed", "read", "served",
    ]  # fmt: skip
    assert find_guards(plan) >= OF_ALL | {"prune", "prune-share", "prune-changed"}


def test_guard_rails_of_a_deletion(team):
    make_policy(critical_kinds=("core/Service",))
    team.apply(*DROPPED)

    assert find_guards(team.plan(*DROPPED, action=SetAction.DELETE)) >= OF_ALL | {"webhook"}


def test_guard_rails_of_a_replacement(team):
    make_policy(critical_kinds=("core/ConfigMap", "core/Service"))
    team.apply(*DROPPED, mode=ApplyMode.CLIENT)
    address = yaml.safe_load(SERVICE)
    address["spec"]["clusterIP"] = "None"
    texts = (yaml.safe_dump(address), HELMED.replace("a: x", "a: z"), CLAIM.replace("Once", "Many"))

    plan = team.plan(*texts, mode=ApplyMode.CLIENT, replacement=Replacement(kinds=("Service", "ConfigMap", "Job")))

    assert sorted(plan.changes.filter(operation="replace").values_list("name", flat=True)) == ["helmed", "served"]
    assert find_guards(plan) >= {"replace", "in-use", "belongs-to-other", "critical-kind"}


@pytest.mark.parametrize(
    "slug",
    ["prune", "replace", "prune-share", "prune-changed", "critical-kind", "belongs-to-other", "in-use",
     "dangling-reference", "data-lost", "left-out-reference", "many-objects", "webhook", "namespace", "crd"],
)  # fmt: skip
def test_policy_names_the_guard_rail_in_its_form(slug):
    assert find_kind(slug).policy_order
