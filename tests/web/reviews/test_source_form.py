"""A refused source of the form is open where its error is: nothing that is wrong stays folded."""

from __future__ import annotations

import re

import pytest
from django.urls import reverse

from tests.stories import config_map
from tests.web import rows

FORM = {"title": "T", "cluster": "shop", "namespace": "shop", "mode": "server", "field_manager": "ci"}
SECTION = re.compile(r'(?s)<details class="source"([^>]*)>(.*?)</details>')


@pytest.mark.parametrize(
    ("values", "error"),
    [
        ({"git_ref": "main"}, "Enter the address of the repository."),
        ({"git_repository": "https://h.example/a", "git_ref": "a b"}, "is not a branch, tag or commit"),
        ({"git_repository": "https://h.example/a", "git_path": "../x"}, "leads out of its folder"),
        ({"follow": "on"}, "All manifests must come from one branch"),
        ({"chart": "oci://h.example/x"}, "enter the exact version of the chart"),
        ({"chart": "x", "chart_release": "Up"}, "lowercase letters, digits, dashes and dots"),
        ({"chart_version": "1.2.3"}, "Name the chart to render."),
        ({"links": "http://h.example/a"}, "Only HTTPS URLs are supported"),
        ({"kustomization": "k"}, "Upload the folder that contains it"),
    ],
)
def test_section_of_an_error_is_open(as_alice, values, error):
    rows.make_cluster()
    answer = as_alice.post(reverse("reviews:add-review"), {**FORM, "text": config_map(a="1"), **values})

    assert answer.status_code == 422
    sections = [state for state, inside in SECTION.findall(answer.content.decode()) if error in inside]
    assert sections == [" open"]


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"git_ref": "main"}, "git_repository"),
        ({"chart_version": "1.2.3"}, "chart"),
        ({"kustomization": "k"}, "kustomization"),
    ],
)
def test_refused_field_of_a_source_is_marked(as_alice, values, field):
    rows.make_cluster()
    answer = as_alice.post(reverse("reviews:add-review"), {**FORM, "text": config_map(a="1"), **values})

    page = answer.content.decode()
    inputs = [one for one in re.findall(r"<input[^>]*>", page) if 'aria-invalid="true"' in one]
    assert [re.findall(r'name="(\w+)"', one) for one in inputs] == [[field]]
    assert f"id_{field}_error" in inputs[0]
    assert f'id="id_{field}_error"' in page


def test_sections_of_an_empty_form_are_folded(as_alice):
    page = as_alice.get(reverse("reviews:add-review")).content.decode()

    assert {state for state, _inside in SECTION.findall(page)} == {""}
