"""Plans of a chart, of a kustomization and of a followed branch, with hidden values in notes, warnings and people.

The answers of helm, kustomize and the host of the repository are fixtures; everything after them is the product.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence

import pytest

from applyviz.engine.requests.options import ApplyOptions
from applyviz.records.models import Plan, Review
from applyviz.sources.bundle import BundledFile
from applyviz.sources.charts.model import ChartSource
from applyviz.sources.git.model import FetchedFiles, GitSource
from applyviz.sources.rendering.job import HELM, Rendered, RenderJob, RenderLimits
from applyviz.workflow.following import branches
from applyviz.workflow.plans import charts, git_sources, intake, planner, reviews
from applyviz.workflow.plans.intake import ReviewInput
from tests.stories import Team

REPOSITORY = "https://git.example/team/shop.git"
CHART = {
    "shop/Chart.yaml": b"apiVersion: v2\nname: shop\nversion: 1.0.0\n",
    "shop/templates/a.yaml": b"a: b\n",
    "shop/templates/NOTES.txt": b"notes\n",
}


def _fetch(address: str, manifests: Sequence[str], commit: str) -> FetchedFiles:
    """Return what the host gives for a branch at a commit."""
    row = {"commit": commit * 40, "author": "Alice", "date": "2026-01-01T00:00:00+00:00", "subject": "Change"}
    history = json.dumps([{**row, "parents": [], "files": ["deploy/0.yaml"]}])
    people = json.dumps({commit * 40: [["Alice", address]] * 2})
    facts = {**row, "repository": REPOSITORY, "ref": "main", "ref_kind": "branch", "asked_ref": "main"}
    files = tuple(BundledFile(f"deploy/{n}.yaml", text.encode()) for n, text in enumerate(manifests))
    return FetchedFiles(files, {**facts, "path": "deploy", "history": history, "people": people})


def _render(notes: str, warning: str, manifests: Sequence[str]) -> Callable[[RenderJob, RenderLimits], Rendered]:
    """Return a program that renders these manifests, whatever it is given."""

    def run(job: RenderJob, _limits: RenderLimits) -> Rendered:
        if "--show-only" in job.arguments:
            return Rendered(0, f"notes: {json.dumps(notes)}\n".encode(), "")
        head = "---\n# Source: shop/templates/a.yaml\n" if job.program == HELM else ""
        return Rendered(0, (head + "---\n".join(manifests)).encode(), f'level=WARN msg="{warning}"\n')

    return run


def _open(team: Team, given: ReviewInput) -> Review:
    found = intake.read_manifests(given, by=team.alice)
    review = reviews.create_review(
        by=team.alice,
        title="Change",
        reason="",
        ticket="",
        cluster=team.cluster,
        options=ApplyOptions(),
        bundle=found.bundle,
    )
    planner.make_plan(review.plans.get().pk)
    return review


def plan_sources(team: Team, values: Mapping[str, str], write: Callable[[str], list[str]]) -> list[Plan]:
    """Return a plan of a chart, one of a kustomization, and two of a branch that is followed.

    - `values` have the `notes`, `warning` and `people` that are hidden; `write` returns the manifests of a round.
    """
    given = f"adminPassword: {values['notes']}\nwarningPassword: {values['warning']}\n"
    texts = (f"The password is {values['notes']}.", f"the password {values['warning']} is weak")
    run, address = _render(*texts, write("rendered")), f"{values['people']}@mail.example"
    with pytest.MonkeyPatch.context() as patch:
        for module in (intake, charts):
            patch.setattr(module, "make_runner", lambda _socket: run)
        patch.setattr(git_sources, "ask_fetch", lambda _source, _by: _fetch(address, write("followed"), "a"))
        chart = ReviewInput(tuple(CHART.items()), chart=ChartSource("shop", values=given), cluster=team.cluster)
        files = (("base/kustomization.yaml", b"resources: [a.yaml]\n"), ("base/a.yaml", write("source")[0].encode()))
        opened = [_open(team, chart), _open(team, ReviewInput(files, kustomization="base"))]
        source = GitSource(REPOSITORY, "main", "deploy")
        followed = _open(team, ReviewInput(git=source))
        branches.start_following(followed, by=team.alice, seen=1)
        patch.setattr(git_sources, "ask_fetch", lambda _source, _by: _fetch(address, write("pushed"), "b"))
        found = intake.read_manifests(ReviewInput(git=source), by=team.alice)
    reviews.replan_review(followed, by=team.alice, bundle=found.bundle, followed=f"main of {REPOSITORY}")
    planner.make_plan(followed.plans.get(number=2).pk)
    return [review.plans.get() for review in opened] + list(followed.plans.order_by("number"))
