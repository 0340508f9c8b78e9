"""The list of reviews."""

from dataclasses import replace

import pytest
from django.urls import reverse

from applyviz.engine.planning.model.plan import Operation
from tests.web import builders, rows

URL = reverse("reviews:list-reviews")


def test_list_names_every_review_with_what_it_does(as_viewer, plan):
    page = as_viewer.get(URL).content.decode()

    assert "Upgrade the shop" in page
    assert "1 update" in page


def test_empty_list_says_so(as_viewer):
    assert "No reviews yet" in as_viewer.get(URL).content.decode()


def test_list_is_hidden_from_outsiders(as_charlie):
    assert as_charlie.get(URL).status_code == 404


@pytest.mark.parametrize("count", [1, 3])
def test_list_asks_the_database_a_fixed_number_of_times(as_viewer, alice, count, django_assert_num_queries):
    for _n in range(count):
        rows.make_plan(alice, [replace(builders.build_change(), operation=Operation.UPDATE)])

    with django_assert_num_queries(16):
        as_viewer.get(URL)
