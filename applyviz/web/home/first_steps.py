"""The card of first steps in a personal installation: resolve, approve, watch the run, use your own cluster."""

from __future__ import annotations

from django.urls import reverse
from django.utils.translation import gettext as _
from msgspec import Struct

from applyviz.workflow.foundation.access import Person
from applyviz.workflow.ops import demo


class FirstStep(Struct, frozen=True):
    """One step; `sign_in` names the demo account that does it, where one click signs that account in."""

    title: str
    who: str
    text: str
    url: str
    link: str
    is_done: bool
    is_now: bool = False
    sign_in: str = ""


def _list_steps(story: demo.DemoStory) -> tuple[tuple[str, str, str, str, str, bool], ...]:
    plan = reverse("reviews:show-plan", args=[story.plan.review.number, story.plan.number])
    run = reverse("runs:show-run", args=[story.run.number]) if story.run else ""
    is_over = story.run is not None and story.run.is_finished
    return (
        (
            _("Resolve the conflict"), "alice",
            _("Deployment/checkout: keep the hotfix, or overwrite it. Then acknowledge the risks."),
            plan, _("Open the review"), story.is_resolved,
        ),
        (
            _("Approve and apply the plan"), "bob", _("The author cannot approve their own changes."),
            plan, _("Open the plan"), story.is_approved,
        ),
        (
            _("Watch the run"), "", _("Every object is verified after it was applied, and its Pods are simulated."),
            run, _("Open the run"), is_over,
        ),
        (
            _("Use your own cluster"), "dana",
            _("Add a context of your kubeconfig with one click. Nothing is written without a review."),
            reverse("clusters:list-clusters") + "#contexts", _("Add a cluster"), story.has_real_cluster,
        ),
    )  # fmt: skip


def present_first_steps(person: Person) -> tuple[FirstStep, ...]:
    """Return the steps with the next one marked; none outside the demo, and none when all are done."""
    story = demo.find_story(for_user=person)
    steps = _list_steps(story) if story is not None else ()
    now = next((n for n, step in enumerate(steps) if not step[5]), None)
    if now is None:
        return ()
    accounts = {account.get_username() for account in demo.list_sign_ins()}
    return tuple(
        FirstStep(
            title=title, who=who, text=text, url=url, link=link, is_done=is_done, is_now=n == now,
            sign_in=who if n == now and who in accounts and who != person.get_username() else "",
        )
        for n, (title, who, text, url, link, is_done) in enumerate(steps)
    )  # fmt: skip
