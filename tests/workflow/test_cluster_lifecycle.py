"""Clusters after they were added: one identity, new credentials, pauses, archives, and words about servers."""

from __future__ import annotations

import pytest
from django.core.management import CommandError, call_command
from django.db import IntegrityError, transaction

from applyviz.clusters import connect
from applyviz.clusters.reader import ClusterReader
from applyviz.clusters.sandbox import SandboxTransport
from applyviz.engine.objects.errors import ClusterError, UnreachableError
from applyviz.engine.objects.exchange import Answer, Request
from applyviz.records.enums import AuditAction, ClusterKind, Role
from applyviz.records.fields import seal_for
from applyviz.records.models import ApplyRun, AuditEntry, Cluster
from applyviz.records.sealing import Unsealed
from applyviz.workflow import runs
from applyviz.workflow.approvals import approving, quorum
from applyviz.workflow.clusters import lifecycle, registration
from applyviz.workflow.foundation import sentences
from applyviz.workflow.foundation.errors import NotAllowedError, NotPossibleError, NotValidError
from applyviz.workflow.live import scans
from applyviz.workflow.plans import planner, reviews
from applyviz.workflow.runs import emergency_apply
from tests.blockers import name_blockers
from tests.builders import make_cluster_row, make_person
from tests.stories import Team, config_map

pytestmark = pytest.mark.django_db
SERVER = "https://api.example:6443"
DOWN = f"The server {SERVER} refused the connection: nothing listens at this port. Start the API server."
UNAUTHORIZED = Answer(401, {"kind": "Status", "code": 401, "message": "Unauthorized"})
FORBIDDEN = Answer(403, {"kind": "Status", "code": 403, "message": "namespaces is forbidden: User cannot get"})


class Api:
    """The API server of a live cluster: it knows the credential as `user`, and may be down, deny or be another one."""

    def __init__(self, box: Cluster) -> None:
        self.box, self.user, self.denied = box, "deployer", frozenset[str]()
        self.answer: Answer | None = None
        self.is_down = False

    def connect(self, cluster: Cluster) -> SandboxTransport:
        return SandboxTransport(cluster) if cluster.is_sandbox else _Door(self)


class _Door(SandboxTransport):
    def __init__(self, api: Api) -> None:
        super().__init__(api.box)
        self.api = api

    def acting_as(self, identity):
        return self

    def send(self, request: Request) -> Answer:
        api = self.api
        if api.is_down:
            raise UnreachableError(DOWN, detail="[Errno 111] Connection refused")
        if api.answer is not None and request.purpose != "access":
            return api.answer
        if request.path.endswith("/selfsubjectreviews"):
            return Answer(201, {"status": {"userInfo": {"username": api.user, "groups": ["b", "a"]}}})
        if request.path.endswith("/selfsubjectaccessreviews"):
            asked = request.body["spec"]["resourceAttributes"]
            return Answer(201, {"status": {"allowed": asked["verb"] not in api.denied}})
        return super().send(request)


@pytest.fixture
def team(db):
    return Team()


@pytest.fixture
def api(team, monkeypatch):
    found = Api(Cluster.objects.get(pk=team.cluster.pk))
    credential = seal_for(team.cluster, "credential", Unsealed.of_json({"form": "test"}))
    values = {"kind": ClusterKind.LIVE, "server": SERVER, "credential": credential}
    Cluster.objects.filter(pk=team.cluster.pk).update(**values, account={"user": "deployer", "groups": ["a", "b"]})
    team.cluster.refresh_from_db()
    monkeypatch.setattr(connect, "open_transport", found.connect)
    # What stands behind it is one database.
    monkeypatch.setattr(
        connect, "reader_over", lambda _cluster, transport, log=None: ClusterReader(transport, parallel=1, log=log)
    )
    return found


@pytest.fixture
def boss(db):
    return make_person("boss", Role.ADMINISTRATOR)


def replace(team, by=None, server=SERVER):
    credential = {"form": "test", "number": 2}
    return lifecycle.prepare_credential(team.cluster, credential=credential, server=server, by=by)()


def changes(**chosen):
    rows = AuditEntry.objects.filter(action=AuditAction.CLUSTER_CHANGED, **chosen).order_by("id")
    return [row.detail["change"] for row in rows]


def add(slug, by=None):
    return registration.add_live_cluster(slug=slug, name=slug, credential={"form": "test"}, server=SERVER, by=by)


def test_the_same_cluster_is_not_added_under_another_name(team, api):
    with pytest.raises(NotPossibleError, match=r"was already added as Box \(box\): replace its credential"):
        add("other")

    assert Cluster.objects.count() == 1


def test_archived_cluster_is_restored_and_not_added_again(team, api):
    lifecycle.archive_cluster(team.cluster, by=None)

    with pytest.raises(NotPossibleError, match="archived: restore it"):
        add("other")


def test_database_holds_no_identity_twice(team):
    with pytest.raises(IntegrityError), transaction.atomic():
        make_cluster_row("other", uid=team.cluster.uid)


def test_each_sandbox_is_a_cluster_of_its_own(team):
    other = registration.create_sandbox(slug="other", name="Other")

    assert team.cluster.uid
    assert other.uid not in ("", team.cluster.uid)


def test_plans_and_approvals_survive_a_new_credential_of_the_same_account(team, api, boss):
    plan = team.plan(config_map(a="1"))
    approving.approve_plan(plan, by=team.bob, digest=plan.digest)

    replace(team, by=boss, server="https://api2.example:6443")
    run = team.work(runs.start_run(plan, by=team.bob, digest=plan.digest))

    cluster = Cluster.objects.get()
    assert (run.state, run.error) == ("applied", "")
    assert (cluster.server, cluster.credential.open_json()["number"]) == ("https://api2.example:6443", 2)
    told = AuditEntry.objects.get(action=AuditAction.CLUSTER_CHANGED)
    assert (told.actor_name, told.detail["account"], told.detail["plans"]) == ("boss", ["deployer"] * 2, "remain valid")


def test_credential_of_another_account_makes_plans_stale(team, api):
    plan = team.plan(config_map(a="1"))
    approving.approve_plan(plan, by=team.bob, digest=plan.digest)
    api.user = "cluster-admin"

    replace(team)

    with pytest.raises(NotPossibleError, match=r"belongs to another account \(cluster-admin\)"):
        runs.start_run(plan, by=team.bob, digest=plan.digest)
    again = reviews.replan_review(plan.review, by=team.alice)
    planner.make_plan(again.pk)
    again.refresh_from_db()
    assert again.digest != plan.digest  # so that no approval is carried over
    assert quorum.count_quorum(again).missing == 1


def test_account_that_changed_behind_the_credential_writes_nothing(team, api):
    run = team.start(team.plan(config_map(a="1")))
    api.user = "cluster-admin"

    assert "belongs to another account (cluster-admin)" in team.work(run).error
    assert team.live() is None


def test_account_that_is_not_told_is_not_taken_for_the_same(team, api):
    plan = team.plan(config_map(a="1"))
    api.user = None

    replace(team)

    assert any("another account (unknown)" in found for found in name_blockers(plan))


def test_credential_of_another_cluster_is_refused(team, api):
    before = bytes(Cluster.objects.get().credential.token)
    api.box = registration.create_sandbox(slug="other", name="Other")

    with pytest.raises(ClusterError, match="is now a different cluster"):
        replace(team)

    assert bytes(Cluster.objects.get(slug="box").credential.token) == before


def test_plan_asks_nothing_of_another_cluster(team, api):
    api.box = registration.create_sandbox(slug="other", name="Other")

    plan = team.plan(config_map(a="1"))

    assert plan.state == "failed"
    assert "is now a different cluster" in plan.error
    assert plan.changes.count() == 0


def test_cluster_that_is_down_fails_the_plan_with_its_sentence(team, api):
    api.is_down = True

    plan = team.plan(config_map(a="1"))

    assert (plan.state, plan.error) == ("failed", DOWN)
    assert [b for b in name_blockers(plan) if "nothing to apply" in b] == []


def test_wrong_token_fails_the_plan_with_its_sentence(team, api):
    api.answer = UNAUTHORIZED

    plan = team.plan(config_map(a="1"))

    assert f"The server {SERVER} does not accept the credential (401)" in plan.error
    assert "Replace the credential" in plan.error


@pytest.mark.core(1)
@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (UNAUTHORIZED, "does not accept the credential (401)"),
        (FORBIDDEN, "(403)"),
        (Answer(503, {"message": "etcd"}), "answered 503 Service Unavailable"),
        (Answer(404, {"message": "not found"}), "is not a Kubernetes API server"),
    ],
)
def test_run_says_why_the_cluster_did_not_answer(team, api, answer, told):
    run = team.start(team.plan(config_map(a="1")))
    api.answer = answer

    error = team.work(run).error

    assert (told in error, SERVER in error) == (True, True)
    assert "Unauthorized" not in error


def test_read_only_account_is_named_before_approval(team, api):
    api.denied = frozenset({"create", "patch", "update"})

    plan = team.plan(config_map(a="1"), config_map("b", a="1"))

    found = [b for b in name_blockers(plan) if "is not allowed to" in b]
    wanted = "create configmaps in namespace default, patch configmaps in namespace default. Grant this"
    assert len(found) == 1
    assert found[0].startswith(f"the cluster credential is not allowed to {wanted}")
    with pytest.raises(NotPossibleError, match="is not allowed to create configmaps"):
        approving.approve_plan(plan, by=team.bob, digest=plan.digest)


def test_rights_that_went_meanwhile_stop_the_run_before_its_first_write(team, api):
    run = team.start(team.plan(config_map(a="1")))
    api.denied = frozenset({"patch"})

    assert "is not allowed to patch configmaps" in team.work(run).error
    assert team.live() is None


def test_connection_is_tested_with_the_own_credential(team, api, boss):
    good = lifecycle.check_connection(team.cluster, by=boss)
    api.is_down = True
    bad = lifecycle.check_connection(team.cluster, by=boss)

    assert (good.account, good.problem) == ("deployer", "")
    assert (bad.problem, bad.server_message) == (DOWN, "[Errno 111] Connection refused")


@pytest.mark.long
def test_scan_of_a_cluster_that_is_down_finds_nothing_missing(team, api):
    team.apply(config_map(a="1"))
    api.is_down = True

    scan = scans.request_scan(team.cluster, by=None)
    scans.scan_cluster(scan.pk)

    scan.refresh_from_db()
    assert scan.problem == DOWN
    assert scans.list_findings(for_user=team.alice).count() == 0


def test_paused_cluster_starts_nothing_and_says_so(team, api, boss):
    plan = team.plan(config_map(a="1"))
    approving.approve_plan(plan, by=team.bob, digest=plan.digest)
    waiting = team.review({"b.yaml": config_map("b")}).plans.get()

    lifecycle.pause_cluster(team.cluster, reason="etcd is moved", by=boss)

    told = r"Box is paused \(etcd is moved\)\. An administrator can resume it on its page"
    for act in (
        lambda: runs.start_run(plan, by=team.bob, digest=plan.digest),
        lambda: reviews.replan_review(plan.review, by=team.alice),
        lambda: team.review({"c.yaml": config_map("c")}),
    ):
        with pytest.raises(NotPossibleError, match=told):
            act()
    planner.make_plan(waiting.pk)
    waiting.refresh_from_db()
    assert "Box is paused" in waiting.error
    plan.target.cluster.refresh_from_db()
    assert "Box is paused" in sentences.describe(emergency_apply.find_break_glass_blockers(plan)[0])
    assert ApplyRun.objects.count() == 0

    lifecycle.resume_cluster(team.cluster, by=boss)
    assert team.work(runs.start_run(plan, by=team.bob, digest=plan.digest)).state == "applied"
    assert changes() == ["paused", "resumed"]


@pytest.mark.long
def test_run_that_nobody_took_waits_for_the_end_of_a_pause(team, api):
    run = team.start(team.plan(config_map(a="1")))
    lifecycle.pause_cluster(team.cluster, reason="", by=None)

    assert team.work(run).state == "queued"
    lifecycle.resume_cluster(team.cluster, by=None)
    assert team.work(run).state == "applied"


def test_run_of_a_paused_cluster_can_be_canceled(team, api):
    run = team.start(team.plan(config_map(a="1")))
    lifecycle.pause_cluster(team.cluster, reason="", by=None)

    runs.cancel_run(run, by=team.bob)

    assert team.work(run).state == "canceled"
    assert team.live() is None


def test_archived_cluster_leaves_forms_and_keeps_its_history(team, api, boss):
    team.apply(config_map(a="1"))
    open_plan = team.plan(config_map(a="2"))

    lifecycle.archive_cluster(team.cluster, by=boss)

    assert list(registration.list_usable(for_user=team.alice)) == []
    assert [c.slug for c in registration.list_clusters(for_user=team.alice)] == ["box"]
    assert registration.get_cluster("box", for_user=team.alice).archived_at is not None
    assert reviews.list_reviews(for_user=team.alice).count() == 2
    with pytest.raises(NotPossibleError, match="Box is archived"):
        reviews.replan_review(open_plan.review, by=team.alice)
    assert scans.request_due(now=open_plan.created_at) == 0
    lifecycle.restore_cluster(team.cluster, by=boss)
    assert [c.slug for c in registration.list_usable(for_user=team.alice)] == ["box"]


def test_cluster_with_an_unfinished_run_is_not_archived(team, api):
    team.start(team.plan(config_map(a="1")))

    with pytest.raises(NotPossibleError, match="a run on this cluster is not finished"):
        lifecycle.archive_cluster(team.cluster, by=None)


def test_cluster_is_renamed(team, api, boss):
    lifecycle.rename_cluster(team.cluster, name=" Shop ", by=boss)

    assert Cluster.objects.values_list("name", "slug").get() == ("Shop", "box")
    with pytest.raises(NotValidError):
        lifecycle.rename_cluster(team.cluster, name=" ", by=boss)


def test_administrators_alone_change_clusters(team, api):
    for act in (
        lambda by: replace(team, by=by),
        lambda by: lifecycle.check_connection(team.cluster, by=by),
        lambda by: lifecycle.rename_cluster(team.cluster, name="x", by=by),
        lambda by: lifecycle.pause_cluster(team.cluster, reason="", by=by),
        lambda by: lifecycle.resume_cluster(team.cluster, by=by),
        lambda by: lifecycle.archive_cluster(team.cluster, by=by),
        lambda by: lifecycle.restore_cluster(team.cluster, by=by),
    ):
        for person in (team.alice, team.bob):
            with pytest.raises(NotAllowedError):
                act(person)


def test_command_does_what_the_page_does(team, api, capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(connect, "server_of", lambda credential: "https://api3.example:6443")
    for words in (
        ["test", "box"],
        ["rename", "box", "--name", "Shop"],
        ["pause", "box", "--reason", "move"],
        ["resume", "box"],
        ["replace-credential", "box", "--kubeconfig", str(tmp_path / "config")],
        ["archive", "box"],
        ["restore", "box"],
    ):
        call_command("cluster", *words)
    call_command("cluster", "list")

    said = capsys.readouterr().out.splitlines()
    assert said[-1] == f"box: Shop, https://api3.example:6443, identity {team.cluster.uid}, deployer, in use"
    assert changes() == ["renamed", "paused", "resumed", "credential replaced", "archived", "restored"]
    assert changes(actor_name="applyviz") == changes()
    api.is_down = True
    with pytest.raises(CommandError, match=r"refused the connection(.|\n)*Server message: \[Errno 111\]"):
        call_command("cluster", "test", "box")
    with pytest.raises(CommandError, match="there is no cluster nowhere"):
        call_command("cluster", "pause", "nowhere")
