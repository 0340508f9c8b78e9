"""The sources of a review: does each object say which file, document and item of a List it was read from?"""

from __future__ import annotations

import json

import pytest
import yaml
from django.test import Client
from django.urls import reverse

from applyviz.engine.requests.options import ApplyOptions
from applyviz.records.models import Plan
from applyviz.sources.bundle import BundledFile, SourceBundle
from applyviz.web.reviews.pages.sources.visitor_chain import present_chain
from applyviz.workflow.plans import planner, reviews
from tests.stories import Team, config_map
from tests.web.reading import lines_of, read

pytestmark = pytest.mark.django_db


def make_list(*names: str) -> str:
    return yaml.safe_dump({"apiVersion": "v1", "kind": "List", "items": [yaml.safe_load(config_map(n)) for n in names]})


def list_places(plan: Plan) -> list[tuple[str, str, str]]:
    return [(file.name, one.name, one.where) for file in present_chain(plan).files for one in file.objects]


def test_objects_name_their_document_and_item(team: Team) -> None:
    text = f"# nothing here\n---\n{config_map('a')}---\n{make_list('b', 'c')}"

    plan = team.plan(text, config_map("d"))

    places = list_places(plan)
    assert [(file, name, where.partition(", line")[0]) for file, name, where in places] == [
        ("0.yaml", "a", "document 1"),
        ("0.yaml", "b", "document 2, item 1 of its List"),
        ("0.yaml", "c", "document 2, item 2 of its List"),
        ("1.yaml", "d", "document 1"),
    ]
    chain = present_chain(plan)
    assert chain.summary.endswith("2 files → 3 documents → 1 List of 2 → 4 objects")
    assert [file.summary for file in chain.files] == [
        "2 documents → 1 List of 2 → 3 objects",
        "1 document → 1 object",
    ]


def test_json_documents_are_counted_too(team: Team) -> None:
    one, two = (json.dumps(yaml.safe_load(config_map(name))) for name in ("a", "b"))

    assert [where for _file, _name, where in list_places(team.plan(f"{one}\n{two}"))] == [
        "document 1, line 1",
        "document 2, line 2",
    ]


def test_activity_shows_the_chain_with_origins(team: Team) -> None:
    files = (
        BundledFile("web.yaml", config_map("a").encode(), {"from": "helm", "template": "shop/templates/web.yaml"}),
        BundledFile("base.yaml", config_map("b").encode(), {"from": "kustomize", "folder": "overlays/prod"}),
        BundledFile("notes.yaml", b"# only a comment\n", {"from": "upload"}),
    )
    review = reviews.create_review(
        by=team.alice,
        title="Chain",
        reason="",
        ticket="",
        cluster=team.cluster,
        options=ApplyOptions(),
        bundle=SourceBundle(files),
    )
    planner.make_plan(review.plans.get().pk)
    client = Client()
    client.force_login(team.alice)

    text = lines_of(read(client, reverse("reviews:show-activity", args=[review.number, 1])))

    assert "rendered by helm from shop/templates/web.yaml · 1 document → 1 object" in text
    assert "rendered by kustomize from overlays/prod · 1 document → 1 object" in text
    assert "uploaded · 0 objects" in text
    assert "No objects were read from this file." in text
    ways = "1 rendered by helm, 1 rendered by kustomize, 1 uploaded"
    assert f"{ways} → 3 files → 2 documents → 2 objects" in text
