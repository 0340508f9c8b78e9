"""The demo story on a sandbox: version 1 was applied, others wrote since, three reviews await approval.

One is version 2, another a new service whose image does not exist, the third the update of a kOps channel.

Every step uses the use cases that people use, so that the history of the demo is genuine. Only the strangers of the
story and kOps write to the sandbox directly, as real ones would.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping

from django.conf import settings
from django.db import transaction
from msgspec import Struct

from applyviz import clock
from applyviz.clusters.sandbox import open_sandbox
from applyviz.demo import DemoMaterial
from applyviz.engine.channels.model import KOPS_MANAGER
from applyviz.engine.objects.errors import ApplyVizError
from applyviz.engine.objects.exchange import MERGE_PATCH, STRATEGIC_MERGE_PATCH, Request
from applyviz.engine.planning.model.plan import Operation
from applyviz.engine.requests.options import ApplyOptions
from applyviz.records.enums import ClusterKind, PlanState, Role, RunState
from applyviz.records.models import ApplyRun, Cluster, Grant, Plan, Review
from applyviz.sources.bundle import BundledFile, SourceBundle
from applyviz.workflow import runs
from applyviz.workflow.approvals import acknowledgments, viewed_objects
from applyviz.workflow.clusters import registration
from applyviz.workflow.foundation import row_macs
from applyviz.workflow.foundation.access import Person, Visitor
from applyviz.workflow.ops import demo_channel
from applyviz.workflow.plans import planner, presets, reviews
from applyviz.workflow.plans.presets import PresetDraft

SLUG = "demo"
SECOND = "Upgrade the web shop to 1.5.0"
TRIAL = "Try the gift card service"
ADDONS = "Update the addons of the cluster"
ROLES = {
    "alice": (Role.AUTHOR,),
    "bob": (Role.APPROVER,),
    "charlie": (Role.VIEWER,),
    "dora": (Role.AUDITOR,),
    "dana": (Role.ADMINISTRATOR, Role.OPERATOR, Role.BREAK_GLASS),
}
_OF_THE_SHOP = ApplyOptions(namespace="shop")
_DEPLOYMENTS = "/apis/apps/v1/namespaces/shop/deployments"
_STRANGERS = (
    Request(
        "PATCH",
        f"{_DEPLOYMENTS}/frontend/scale",
        {"fieldManager": "kube-controller-manager"},
        MERGE_PATCH,
        {"spec": {"replicas": 5}},
    ),
    Request(
        "PATCH",
        f"{_DEPLOYMENTS}/checkout",
        {"fieldManager": "kubectl-set"},
        STRATEGIC_MERGE_PATCH,
        {"spec": {"template": {"spec": {"containers": [{"name": "checkout", "image": "shop/checkout:1.4.3-hotfix"}]}}}},
    ),
)


class DemoError(ApplyVizError):
    """A step of the demo story failed."""


class Account(Struct, frozen=True):
    """A demo account; its password is generated for this installation."""

    name: str
    roles: tuple[Role, ...]
    password: str

    @property
    def title(self) -> str:
        """Return its roles as text."""
        return describe_roles(self.name)


def make_accounts() -> tuple[Account, ...]:
    """Create the demo accounts with new passwords."""
    accounts = []
    for name, roles in ROLES.items():
        password = secrets.token_urlsafe(9)
        person, _ = Person.objects.get_or_create(username=name)
        person.set_password(password)
        person.save()
        for role in roles:
            _grant(person, role)
        accounts.append(Account(name, roles, password))
    return tuple(accounts)


def _grant(person: Person, role: Role) -> None:
    if Grant.objects.filter(person=person, role=role, ended_at=None).exists():
        return
    grant = Grant(person=person, role=role, since=clock.host_now())
    row_macs.vouch(grant)
    grant.save(force_insert=True)


def _bundle(files: Mapping[str, bytes], origin: str) -> SourceBundle:
    return SourceBundle(tuple(BundledFile(name, data, {"from": origin}) for name, data in files.items()))


def _review(
    cluster: Cluster,
    title: str,
    reason: str,
    bundle: SourceBundle,
    *,
    by: Person,
    options: ApplyOptions = _OF_THE_SHOP,
) -> Plan:
    review = reviews.create_review(
        by=by,
        title=title,
        reason=reason,
        ticket="",
        cluster=cluster,
        options=options,
        bundle=bundle,
    )
    plan = review.plans.get()
    planner.make_plan(plan.pk)
    plan.refresh_from_db()
    if plan.state != PlanState.COMPLETE:
        raise DemoError(f"{title} could not be planned: {plan.error}")
    return plan


def _apply(plan: Plan, *, by: Person) -> None:
    for kind in dict.fromkeys(risk.kind for risk in acknowledgments.find_open(plan)):
        acknowledgments.acknowledge_risks(plan, kind, by=by, note="the first version")
    for row in viewed_objects.find_unopened(plan, by=by):
        viewed_objects.record_viewed(row, plan, by=by)
    started = runs.approve_and_run(plan, by=by, digest=plan.digest, note="the first version")
    runs.execute_run(started.pk)
    run = ApplyRun.objects.get(pk=started.pk)
    if run.state != RunState.APPLIED:
        bad = [f"{r.change}: {r.outcome}: {r.detail}" for r in run.results.select_related("change") if r.detail]
        raise DemoError(f"version 1 could not be applied: {run.error or '; '.join(bad)}")


def _draft_preset(cluster: Cluster) -> PresetDraft:
    """Return the preset with which authors of the shop only add manifests."""
    return PresetDraft(
        slug="shop",
        name="Web shop in the demo sandbox",
        description="Applies manifests of the shop server-side into its namespace.",
        title="Change of the web shop",
        cluster=cluster,
        options={"namespace": "shop"},
    )


def seed_demo(material: DemoMaterial) -> tuple[Account, ...]:
    """Create the story from two versions of one set of manifests, a service that cannot start and a kOps channel.

    - Does nothing when the story already exists.
    """
    if Cluster.objects.filter(slug=SLUG).exists():
        return ()
    with transaction.atomic():
        accounts = make_accounts()
        cluster = registration.create_sandbox(slug=SLUG, name="Demo sandbox", simulates_workloads=True)
    alice, bob, dana = (Person.objects.get(username=name) for name in ("alice", "bob", "dana"))
    presets.add_preset(_draft_preset(cluster), by=dana)
    plan = _review(
        cluster, "Web shop 1.4.2", "The first version of the shop.", _bundle(material.first, "demo v1"), by=alice
    )
    _apply(plan, by=bob)
    sandbox = open_sandbox(cluster)
    for request in (*_STRANGERS, *demo_channel.list_requests(material.installed, material.channel)):
        answer = sandbox.handle(request)
        if not answer.is_ok:
            raise DemoError(f"{request.path}: {answer.message}")
    _review(
        cluster,
        SECOND,
        "New wishlist service, new tax rules; checkout no longer needs the legacy tax API.",
        _bundle(material.second, "demo v2"),
        by=alice,
    )
    _review(
        cluster,
        TRIAL,
        "A first look at gift cards. Its image was never pushed: apply it, wait until workloads are ready, and see how "
        "the rollout fails.",
        _bundle(material.trial, "demo trial"),
        by=alice,
    )
    _review(
        cluster,
        ADDONS,
        "metrics-server is updated and prunes a ConfigMap, limit-range is new, and two addons are skipped: see the tab "
        "Addons.",
        _bundle(material.channel, "demo channel"),
        by=alice,
        options=ApplyOptions(namespace="kube-system", field_manager=KOPS_MANAGER),
    )
    return accounts


class DemoStory(Struct, frozen=True):
    """The progress of the demo: its second plan, what was done with it, and whether a real cluster was added."""

    plan: Plan
    run: ApplyRun | None
    is_resolved: bool
    is_approved: bool
    has_real_cluster: bool


def find_story(*, for_user: Visitor) -> DemoStory | None:
    """Return how far the demo is; None outside a personal installation, and where its second review is gone."""
    if not settings.APPLYVIZ_IS_PERSONAL:
        return None
    found = (
        reviews.list_reviews(for_user=for_user).prefetch_related(None).filter(title=SECOND, author__username="alice")
    )
    review = found.filter(plans__target__cluster__slug=SLUG).order_by("number").first()
    plan = review.latest_plan if review is not None else None
    if plan is None:
        return None
    run = ApplyRun.objects.filter(plan=plan).first()
    return DemoStory(
        plan=plan,
        run=run,
        is_resolved=plan.state == PlanState.COMPLETE and not plan.counts.get(Operation.BLOCKED),
        is_approved=run is not None or plan.approvals.filter(revoked_at=None).exists(),
        has_real_cluster=_has_real_cluster(),
    )


def _has_real_cluster() -> bool:
    return Cluster.objects.exclude(kind=ClusterKind.SANDBOX).exists()


def _is_installed() -> bool:
    return settings.APPLYVIZ_IS_PERSONAL and Cluster.objects.filter(slug=SLUG).exists()


def asks_for_passwords() -> bool:
    """Return whether the demo accounts of a personal installation sign in by password, since a real cluster is here."""
    return _is_installed() and _has_real_cluster()


def list_sign_ins() -> tuple[Person, ...]:
    """Return the demo accounts that one click signs in; none unless that can open nothing but the demo.

    - Only a personal installation has any, and only while every cluster is a sandbox. Otherwise any process that
      reaches this machine's port could act as the person whose credentials a real cluster was added with.
    """
    if not _is_installed() or _has_real_cluster():
        return ()
    people = {person.username: person for person in Person.objects.filter(username__in=ROLES, is_active=True)}
    return tuple(people[name] for name in ROLES if name in people)


def has_story() -> bool:
    """Return whether this installation has anything to show."""
    return Cluster.objects.exists() or Review.objects.exists()


def describe_roles(name: str) -> str:
    """Return the roles of a demo account as text."""
    return ", ".join(str(role.label) for role in ROLES[name])
