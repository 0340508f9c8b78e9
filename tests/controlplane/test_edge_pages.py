"""Three releases of an ingress controller in a row on a real API server, each through the pages alone.

The author uploads a release and replaces its refused Jobs by the button of the Overview; the approver approves and
starts the run on the approve page.
"""

from __future__ import annotations

import re

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from applyviz.engine.planning.model.plan import Operation
from applyviz.engine.requests.options import ApplyMode
from applyviz.records.enums import Outcome, RunState
from applyviz.records.models import ApplyRun, Plan, Review
from applyviz.workflow import runs
from applyviz.workflow.plans import planner
from tests.builders import open_dangers
from tests.controlplane.product import Product
from tests.controlplane.test_edge import MANAGERS, cleaned, complete_webhook
from tests.edge import JOBS, RELEASES, write_release
from tests.web.reviews.test_approvals import sign_in, with_password

pytestmark = [pytest.mark.controlplane, pytest.mark.django_db, pytest.mark.long]
PASSWORD = "long enough to be good"


def make_latest() -> Plan:
    """Make the plan that a page asked for."""
    made = Plan.objects.latest("pk")
    planner.make_plan(made.pk)
    return Plan.objects.get(pk=made.pk)


def address(plan: Plan, name: str) -> str:
    return reverse(f"reviews:{name}", args=[plan.review.number, plan.number])


def upload(author: Client, text: str, mode: ApplyMode, namespace: str) -> Plan:
    """Bring a release by the form."""
    form = {"title": "Upgrade", "cluster": "real", "namespace": namespace, "mode": mode.value}
    files = [SimpleUploadedFile("deploy.yaml", text.encode())]
    answer = author.post(reverse("reviews:add-review"), {**form, "field_manager": MANAGERS[mode], "manifests": files})
    assert answer.status_code == 302, answer.content.decode()
    return make_latest()


def replace_refused(author: Client, plan: Plan) -> Plan:
    """Press the button of the Overview that replaces every object that it helps."""
    page = author.get(address(plan, "show-overview")).content.decode()
    assert f"Replace {len(JOBS)} objects" in page
    refused = plan.changes.filter(operation=Operation.ERROR)
    assert {row.kind for row in refused} == {"Job"}
    positions = [row.position for row in refused]
    assert [one for one in positions if not re.search(f'name="objects" value="{one}"', page)] == []
    assert author.post(address(plan, "replace-objects"), {"objects": positions}).status_code == 302
    return make_latest()


def approve(approver: Client, product: Product, plan: Plan) -> ApplyRun:
    """Approve on the approve page and start the run there; a worker then carries it out."""
    open_dangers(plan, product.bob)
    given = {"digest": plan.digest, "then": "apply", "password": PASSWORD}
    answer = approver.post(address(plan, "confirm-plan"), given)
    assert answer.status_code == 302, answer.content.decode()
    started = ApplyRun.objects.latest("pk")
    runs.execute_run(started.pk)
    return ApplyRun.objects.get(pk=started.pk)


@pytest.mark.parametrize("mode", ApplyMode)
def test_three_releases_are_applied_through_the_pages(control_plane, mode):
    product, prefix = Product(control_plane), f"pages-edge-{mode.value}"
    with_password(product.bob)
    author, approver = Client(), sign_in("bob", PASSWORD)
    author.force_login(product.alice)
    with cleaned(control_plane, prefix):
        for number, release in enumerate(RELEASES):
            plan = upload(author, write_release(release, prefix), mode, prefix)
            if number:
                plan = replace_refused(author, plan)
                assert plan.counts["replace"] == len(JOBS)
            run = approve(approver, product, plan)
            complete_webhook(control_plane, prefix)

            assert (run.state, run.error) == (RunState.APPLIED, "")
            outcomes = set(run.results.values_list("outcome", flat=True))
            assert outcomes <= {Outcome.VERIFIED, Outcome.UNCHANGED}, outcomes
            job = control_plane.kubectl("get", "jobs", "-n", prefix, "-o", "name").stdout.split()
            assert len(job) == len(JOBS)
    assert Review.objects.count() == len(RELEASES)
