"""Credentials on a real API server: a wrong token, an account that only reads, another account, the same one anew."""

from __future__ import annotations

import json
import time

import pytest

from applyviz.clusters import connect
from applyviz.clusters.kubeconfig import read_kubeconfig
from applyviz.engine.objects.errors import ClusterError
from applyviz.engine.requests.options import ApplyMode, ApplyOptions
from applyviz.records.enums import PlanState, RunState
from applyviz.records.models import Cluster
from applyviz.records.sealing import Unsealed
from applyviz.sources.bundle import BundledFile, SourceBundle
from applyviz.workflow import runs
from applyviz.workflow.approvals import approving, quorum
from applyviz.workflow.clusters import lifecycle, registration
from applyviz.workflow.foundation.errors import NotPossibleError
from applyviz.workflow.plans import planner, reviews
from tests.blockers import name_blockers
from tests.controlplane.product import Product
from tests.ports import free_port
from tests.stories import config_map

pytestmark = [pytest.mark.controlplane, pytest.mark.django_db]
NAMESPACE = "connections"


@pytest.fixture
def product(control_plane) -> Product:
    control_plane.kubectl("create", "namespace", NAMESPACE, check=False)
    return Product(control_plane)


def wait_until(product: Product, ask: tuple[str, ...], seconds: float = 20) -> None:
    """Ask kubectl again and again, until it says yes."""
    deadline = time.monotonic() + seconds
    while product.plane.kubectl(*ask, check=False).stdout.strip() != "yes":
        assert time.monotonic() < deadline
        time.sleep(0.1)


def make_token(product: Product, account: str, *rules: tuple[str, ...]) -> str:
    """A token of a service account with cluster roles of these (name, verbs, resources)."""
    kubectl, full = product.plane.kubectl, f"{NAMESPACE}:{account}"
    kubectl("create", "serviceaccount", account, "-n", NAMESPACE, check=False)
    for name, verbs, resources in rules:
        role = f"{account}-{name}"
        kubectl("create", "clusterrole", role, f"--verb={verbs}", f"--resource={resources}", check=False)
        kubectl("create", "clusterrolebinding", role, f"--clusterrole={role}", f"--serviceaccount={full}", check=False)
    for _name, verbs, _resources in rules:  # the server reads new roles a moment later
        ask = ("auth", "can-i", verbs.partition(",")[0], "configmaps", f"--as=system:serviceaccount:{full}")
        wait_until(product, ask)
    path = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/{account}/token"
    body = json.dumps({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}})
    told = product.plane.kubectl("create", "--raw", path, "-f", "-", stdin=body)
    return str(json.loads(told.stdout)["status"]["token"])


READS = ("reads", "get,list", "namespaces,configmaps")
WRITES = ("writes", "create,update,patch,delete", "configmaps")


def replace(product: Product, token: str) -> Cluster:
    taken = read_kubeconfig(product.plane.render_kubeconfig(token).encode())
    credential = {"form": connect.UPLOADED, "credential": taken.to_json()}
    return lifecycle.prepare_credential(product.cluster, credential=credential, server=taken.server, by=None)()


def plan(product: Product, name: str, mode: ApplyMode = ApplyMode.SERVER):
    return product.plan({"a.yaml": config_map(name, a="1")}, ApplyOptions(namespace=NAMESPACE, mode=mode))


def test_wrong_token_is_named_and_not_taken(product):
    with pytest.raises(ClusterError, match=r"does not accept the credential \(401\).*Replace") as raised:
        replace(product, "no-such-token")

    assert raised.value.detail == "Unauthorized"
    assert product.plane.url in raised.value.reason


def test_account_that_may_not_read_the_identity_is_told_which_right_it_lacks(product):
    with pytest.raises(ClusterError, match="may not read namespace kube-system"):
        replace(product, make_token(product, "blind"))


def test_server_that_is_down_fails_the_plan_with_its_sentence(product):
    server = f"https://127.0.0.1:{free_port()}"
    row = Cluster.objects.get(pk=product.cluster.pk)
    taken = {**row.credential.open_json()["credential"], "server": server}
    row.credential = Unsealed.of_json({"form": connect.UPLOADED, "credential": taken})
    row.server = server
    row.save()

    review = reviews.create_review(
        by=product.alice,
        title="Down",
        reason="",
        ticket="",
        cluster=row,
        options=ApplyOptions(namespace=NAMESPACE),
        bundle=SourceBundle((BundledFile("a.yaml", config_map("down").encode(), {"from": "upload"}),)),
    )
    made = review.plans.get()
    planner.make_plan(made.pk)

    made.refresh_from_db()
    assert made.state == PlanState.FAILED
    assert made.error.startswith(f"The server {server} refused the connection")


def test_the_same_cluster_is_refused_under_another_name(product):
    taken = read_kubeconfig(product.plane.render_kubeconfig().encode())
    credential = {"form": connect.UPLOADED, "credential": taken.to_json()}

    with pytest.raises(NotPossibleError, match="was already added"):
        registration.add_live_cluster(slug="twice", name="Twice", credential=credential, server=taken.server)


@pytest.mark.parametrize("mode", list(ApplyMode))
def test_account_that_only_reads_is_named_before_approval(product, mode):
    replace(product, make_token(product, "reader", READS))

    made = plan(product, f"read-only-{mode.name.lower()}".replace("_", "-"), mode)

    found = [text for text in name_blockers(made) if "not allowed to" in text]
    assert made.state == PlanState.COMPLETE
    assert len(found) == 1
    assert "the cluster credential is not allowed to create configmaps in namespace connections" in found[0]
    assert found[0].endswith(". Grant this permission to its account, then re-plan")
    with pytest.raises(NotPossibleError, match="is not allowed to create configmaps"):
        approving.approve_plan(made, by=product.bob, digest=made.digest)


def test_plan_and_approval_survive_a_new_token_of_the_same_account(product):
    replace(product, make_token(product, "writer", READS, WRITES))
    made = plan(product, "survives")
    approving.approve_plan(made, by=product.bob, digest=made.digest)

    replaced = replace(product, make_token(product, "writer", READS, WRITES))
    run = runs.start_run(made, by=product.bob, digest=made.digest)
    runs.execute_run(run.pk)

    run.refresh_from_db()
    assert replaced.account["user"] == f"system:serviceaccount:{NAMESPACE}:writer"
    assert (run.state, run.error) == (RunState.APPLIED, "")


def test_plan_of_another_account_is_made_anew(product):
    replace(product, make_token(product, "writer", READS, WRITES))
    made = plan(product, "anew")
    approving.approve_plan(made, by=product.bob, digest=made.digest)

    replace(product, make_token(product, "other-writer", READS, WRITES))

    with pytest.raises(NotPossibleError, match="belongs to another account"):
        runs.start_run(made, by=product.bob, digest=made.digest)
    again = reviews.replan_review(made.review, by=product.alice)
    planner.make_plan(again.pk)
    again.refresh_from_db()
    assert (again.state, quorum.count_quorum(again).missing) == (PlanState.COMPLETE, 1)
