"""Every status that an API server can answer has a meaning."""

from http import HTTPStatus

import pytest

from applyviz.clusters.errors import MEANINGS, meaning_of


@pytest.mark.parametrize("status", [s.value for s in HTTPStatus if s.value >= 300] + [0, 418, 499, 599])
def test_every_status_has_words(status):
    assert meaning_of(status).words


@pytest.mark.parametrize(("status", "is_retryable"), [(0, True), (302, False), (418, False), (599, True)])
def test_status_that_is_not_listed_means_what_its_class_means(status, is_retryable):
    assert status not in MEANINGS
    assert meaning_of(status).is_retryable is is_retryable


def test_redirects_are_never_followed():
    assert "never followed" in meaning_of(302).words
