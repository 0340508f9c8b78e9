"""Where manifests come from, as pages say it."""

from __future__ import annotations

import pytest

from applyviz.records.models import SourceFile, SourceRevision
from applyviz.records.sealing import Unsealed
from applyviz.web.reviews.pages.sources.provenance import MOST_FILES, list_origins, sum_up_origins
from tests.web import rows

pytestmark = pytest.mark.django_db
FETCHED = {
    "from": "link",
    "url": "https://git.example/app/-/blob/main/app.yaml?token=canary",
    "raw_url": "https://git.example/app/-/raw/main/app.yaml",
    "fetched_at": "2026-01-01T00:00:00+00:00",
}


def add_files(revision: SourceRevision, *origins: dict[str, str]) -> None:
    SourceFile.objects.bulk_create(
        SourceFile(
            revision=revision,
            position=n,
            name=f"{n}.yaml",
            content=Unsealed.of_bytes(b"a: b"),
            digest="d",
            size=4,
            provenance=one,
        )
        for n, one in enumerate(origins)
    )


@pytest.mark.parametrize(
    ("provenance", "text"),
    [
        ({"from": "upload"}, "uploaded"),
        ({"from": "paste"}, "pasted"),
        ({"from": "kustomize", "folder": "shop/prod"}, "rendered by kustomize from shop/prod"),
        ({"from": "live", "cluster": "prod"}, "live object of cluster prod"),
        ({"from": "run 7"}, "revert of run 7"),
        ({}, ""),
    ],
)
def test_each_origin_has_its_words(alice, provenance, text):
    plan = rows.make_plan(alice, [])
    add_files(plan.revision, provenance)

    (file,) = list_origins(plan).files

    assert (file.name, file.size, file.text, file.url) == ("0.yaml", 4, text, "")


def test_link_is_named_without_its_query(alice, client):
    plan = rows.make_plan(alice, [])
    add_files(plan.revision, FETCHED)
    client.force_login(alice)

    (file,) = list_origins(plan).files
    page = client.get(f"/reviews/{plan.review.number}/plans/{plan.number}/record/").content.decode()

    assert (file.text, file.raw_url) == ("fetched", FETCHED["raw_url"])
    assert file.url == "https://git.example/app/-/blob/main/app.yaml"
    assert 'href="https://git.example/app/-/blob/main/app.yaml"' in page
    assert "its raw form was fetched" in page
    assert "canary" not in page


def test_long_list_is_cut_and_says_so(alice):
    plan = rows.make_plan(alice, [])
    add_files(plan.revision, *({"from": "upload"} for _ in range(MOST_FILES + 3)))

    found = list_origins(plan)

    assert (len(found.files), found.more) == (MOST_FILES, 3)


@pytest.mark.parametrize(
    ("provenance", "text"),
    [
        ({"files": 1}, "1 file"),
        ({"sources": [["upload", 2]]}, "2 files"),
        (
            {"sources": [["link", 2]], "links": ["https://a.example/x", "https://a.example/y"]},
            "2 files from a.example",
        ),
        (
            {"sources": [["upload", 2], ["paste", 1], ["link", 1]], "links": ["https://a.example/x"]},
            "2 files uploaded; pasted text; 1 file from a.example",
        ),
    ],
)
def test_overview_sums_up_the_files(provenance, text):
    assert sum_up_origins(SourceRevision(provenance=provenance)) == text
