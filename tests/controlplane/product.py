"""The same story told by the product: a review, a plan, an approval and a run per version, on the live cluster."""

from __future__ import annotations

from collections import Counter

from django.contrib.auth.models import User

from applyviz.engine.planning.model.plan import Operation
from applyviz.engine.requests.options import PRODUCT_MANAGER, ApplyMode, ApplyOptions
from applyviz.records.enums import Outcome, PlanState, Role, RunState
from applyviz.records.models import ApplyRun, Cluster, Plan
from applyviz.sources.bundle import BundledFile, SourceBundle
from applyviz.workflow import runs
from applyviz.workflow.clusters import registration
from applyviz.workflow.plans import planner, reviews
from tests.builders import acknowledge_all, grant_role, open_dangers
from tests.controlplane.comparison import JSONObject, make_comparable, read_objects
from tests.controlplane.controlplane import ControlPlane
from tests.controlplane.stories import DEFINITIONS, Files, Story


def make_person(name: str, role: Role) -> User:
    """Somebody with one role."""
    person = User.objects.create_user(name)
    grant_role(person, role)
    return person


def add_cluster(plane: ControlPlane) -> Cluster:
    """The control plane as a live cluster of the product, from an uploaded kubeconfig."""
    return registration.prepare_upload(
        slug="real",
        name="Real",
        kubeconfig=plane.kubeconfig.read_bytes(),
        context="test",
        by=User.objects.create_superuser("root"),
    )()


class Product:
    """Alice writes, Bob approves; planning and running happen at once, by the use cases that the tasks call."""

    def __init__(self, plane: ControlPlane) -> None:
        self.plane = plane
        self.cluster = add_cluster(plane)
        self.alice = make_person("alice", Role.AUTHOR)
        self.bob = make_person("bob", Role.APPROVER)

    def plan(self, files: Files, options: ApplyOptions) -> Plan:
        """A complete plan of these files; fails with its problems."""
        bundle = SourceBundle(
            tuple(BundledFile(name, text.encode(), {"from": "upload"}) for name, text in files.items())
        )
        review = reviews.create_review(
            by=self.alice,
            title="Upgrade",
            reason="to compare",
            ticket="",
            cluster=self.cluster,
            options=options,
            bundle=bundle,
        )
        planner.make_plan(review.plans.get().pk)
        plan = review.plans.get()
        assert (plan.state, plan.error, plan.problems) == (PlanState.COMPLETE, "", [])
        return plan

    def apply(self, files: Files, options: ApplyOptions) -> ApplyRun:
        """Plan, approve, run; every object must come out as the plan said."""
        plan = self.plan(files, options)
        return self.run(plan)

    def run(self, plan: Plan) -> ApplyRun:
        """Approve a plan and run it; every object must come out as the plan said."""
        errors = [f"{change}: {change.error}" for change in plan.changes.all() if change.error]
        assert errors == []
        acknowledge_all(plan, self.bob)
        open_dangers(plan, self.bob)
        started = runs.approve_and_run(plan, by=self.bob, digest=plan.digest)
        runs.execute_run(started.pk)
        run = ApplyRun.objects.get(pk=started.pk)
        results = run.results.select_related("change").exclude(change__operation=Operation.LEFT_OUT)
        told = {str(each.change): (each.outcome, each.detail) for each in results}
        unexpected = {
            name: how
            for name, how in told.items()
            if how[0] not in (Outcome.VERIFIED, Outcome.DELETED, Outcome.UNCHANGED)
        }
        assert (run.state, run.error, unexpected) == (RunState.APPLIED, "", {}), unexpected
        return run


def run_with_product(product: Product, story: Story, mode: ApplyMode) -> list[dict[str, JSONObject]]:
    """Apply both versions; what was live after each, made comparable."""
    plane = product.plane
    if not any(name in story.first for name in DEFINITIONS):
        plane.kubectl("create", "namespace", story.namespace)
    options = ApplyOptions(
        mode=mode, field_manager=PRODUCT_MANAGER, namespace=story.namespace, takes_over=mode is ApplyMode.SERVER
    )
    product.apply(story.first, options)
    after_first = read_objects(plane, story.first, story.namespace)
    story.between(plane)
    product.apply(story.second, options)
    after_second = read_objects(plane, story.second, story.namespace)
    return [make_comparable(objects, story.renamed) for objects in (after_first, after_second)]


def count_operations(plan: Plan) -> dict[str, int]:
    """How many objects each operation has."""
    return dict(Counter(plan.changes.values_list("operation", flat=True)))
