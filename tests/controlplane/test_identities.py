"""Identities on a real API server: everything goes out as the person, and what they may not do is refused."""

from __future__ import annotations

import json
import time

import pytest

from applyviz.clusters import connect
from applyviz.clusters.identity import Identity
from applyviz.clusters.kubeconfig import read_kubeconfig
from applyviz.engine.objects.exchange import Request
from applyviz.engine.requests.options import ApplyOptions
from applyviz.records.enums import PlanState, RunState
from applyviz.records.models import ApplyRun, Plan
from applyviz.records.sealing import Unsealed
from applyviz.sources.bundle import BundledFile, SourceBundle
from applyviz.workflow import runs
from applyviz.workflow.approvals import approving
from applyviz.workflow.clusters import cluster_access, impersonation
from applyviz.workflow.clusters.impersonation import MappingDraft
from applyviz.workflow.foundation.errors import NotPossibleError
from applyviz.workflow.plans import planner, reviews
from tests.blockers import name_blockers
from tests.builders import make_person, open_dangers
from tests.controlplane.product import Product
from tests.stories import config_map

pytestmark = [pytest.mark.controlplane, pytest.mark.django_db]
GROUPS = ("shop-writers", "on call")


@pytest.fixture
def product(control_plane) -> Product:
    found = Product(control_plane)
    dana = make_person("dana", "administrator")
    impersonation.map_identity(found.cluster, MappingDraft("jane", GROUPS, person=found.alice), by=dana)
    return found


@pytest.fixture
def namespace(product) -> str:
    """A namespace where the groups may write ConfigMaps, and everybody of them read."""
    name = "identities"
    plane = product.plane
    plane.kubectl("create", "namespace", name, check=False)
    verbs = "--verb=get,list,create,update,patch,delete"
    plane.kubectl("create", "role", "writer", "-n", name, verbs, "--resource=configmaps", check=False)
    plane.kubectl("create", "rolebinding", "writers", "-n", name, "--role=writer", f"--group={GROUPS[1]}", check=False)
    return name


def plan(product: Product, namespace: str, text: str) -> Plan:
    return product.plan({"a.yaml": text}, ApplyOptions(namespace=namespace))


def test_server_takes_us_for_the_person_with_all_groups(product, namespace):
    state = cluster_access.read_state(product.cluster, for_user=product.alice, namespace=namespace)
    allowed = {f"{row.plural}": row.allowed for row in state.rights}
    with impersonation.open_reader(product.cluster, for_user=product.alice) as reader:
        who = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
        path = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
        told = reader.send(Request("POST", path, {"dryRun": "All"}, "application/json", who)).body

    assert told["status"]["userInfo"]["username"] == "jane"
    assert told["status"]["userInfo"]["groups"] == [*GROUPS, "system:authenticated"]
    assert (state.identity, state.is_impersonated) == ("jane", True)
    assert (allowed["configmaps"], allowed["secrets"]) == ((True,) * 4, (False,) * 4)


def test_person_who_may_write_applies_and_owns_nothing_by_name(product, namespace):
    made = plan(product, namespace, config_map("mine", a="1"))
    run = runs.approve_and_run(made, by=product.bob, digest=made.digest)
    runs.execute_run(run.pk)

    run = ApplyRun.objects.get(pk=run.pk)
    live = json.loads(
        product.plane.kubectl("get", "cm", "mine", "-n", namespace, "-o", "json", "--show-managed-fields").stdout
    )
    assert (run.state, run.error, made.denied) == (RunState.APPLIED, "", [])
    assert made.identity == {"user": "jane", "groups": list(GROUPS)}
    assert [(e["manager"], e["operation"]) for e in live["metadata"]["managedFields"]] == [("applyviz", "Apply")]


def test_person_who_may_not_write_is_refused_at_review_approval_and_apply(product, namespace):
    login = "apiVersion: v1\nkind: Secret\nmetadata: {name: login}\nstringData: {a: b}\n"
    made = reviews.create_review(
        by=product.alice, title="x", reason="", ticket="", cluster=product.cluster,
        options=ApplyOptions(namespace=namespace), bundle=_bundle(login),
    ).plans.get()  # fmt: skip
    planner.make_plan(made.pk)
    made.refresh_from_db()
    open_dangers(made, product.bob)

    blockers = name_blockers(made)
    assert made.state == PlanState.COMPLETE
    assert any("jane (shop-writers, on call) may not" in text or "unknown" in text for text in blockers)
    with pytest.raises(NotPossibleError):
        approving.approve_plan(made, by=product.bob, digest=made.digest)
    with pytest.raises(NotPossibleError):
        runs.start_run(made, by=product.bob, digest=made.digest)
    assert product.plane.kubectl("get", "secret", "login", "-n", namespace, check=False).returncode != 0


def _bundle(text: str):
    return SourceBundle((BundledFile("a.yaml", text.encode()),))


def test_person_who_may_only_read_sees_a_plan_that_nobody_can_approve(product, namespace):
    plane = product.plane
    plane.kubectl("create", "role", "reader", "-n", namespace, "--verb=get,list", "--resource=services", check=False)
    plane.kubectl("create", "rolebinding", "readers", "-n", namespace, "--role=reader", "--user=jane", check=False)
    service = "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {ports: [{port: 80}], selector: {a: b}}\n"

    made = plan(product, namespace, service)

    assert [(c.operation, c.certainty) for c in made.changes.all()] == [("create", "estimated")]
    assert made.denied == [
        f"create services in namespace {namespace}",
        f"patch services web in namespace {namespace}",
    ]
    with pytest.raises(NotPossibleError, match="is not allowed to create services"):
        approving.approve_plan(made, by=product.bob, digest=made.digest)


def test_right_taken_on_the_server_after_the_approval_writes_nothing(product, namespace):
    made = plan(product, namespace, config_map("late", a="1"))
    run = runs.approve_and_run(made, by=product.bob, digest=made.digest)
    product.plane.kubectl("delete", "rolebinding", "writers", "-n", namespace)
    try:
        _wait_until_denied(product, namespace)
        runs.execute_run(run.pk)
    finally:
        product.plane.kubectl(
            "create", "rolebinding", "writers", "-n", namespace, "--role=writer", f"--group={GROUPS[1]}"
        )

    run = ApplyRun.objects.get(pk=run.pk)
    assert run.state == RunState.FAILED
    assert "is not allowed to create configmaps" in run.error
    assert product.plane.kubectl("get", "cm", "late", "-n", namespace, check=False).returncode != 0


def _wait_until_denied(product: Product, namespace: str) -> None:
    """The server's authorizer hears of it a moment later."""
    deadline = time.monotonic() + 20
    groups = [f"--as-group={group}" for group in GROUPS]
    while time.monotonic() < deadline:
        asked = product.plane.kubectl(
            "auth", "can-i", "create", "cm", "-n", namespace, "--as=jane", *groups, check=False
        )
        if asked.stdout.strip() == "no":
            return
        time.sleep(0.2)
    raise AssertionError("the right is still there")


def test_credential_that_may_not_impersonate_plans_nothing(control_plane):
    product = Product(control_plane)
    token = control_plane.render_kubeconfig("alice-token").encode()
    given = {"form": connect.UPLOADED, "credential": read_kubeconfig(token).to_json()}
    product.cluster.credential = Unsealed.of_json(given)
    with connect.open_reader(product.cluster, Identity("jane")) as reader:
        answer = reader.send(Request("GET", "/api/v1/namespaces/default/configmaps"))

    assert answer.status == 403
    assert "cannot impersonate" in answer.message
