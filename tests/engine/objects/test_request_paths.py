"""The paths of requests: each segment is encoded as url.PathEscape of Go encodes it."""

from urllib.parse import quote

import pytest

from applyviz.engine.objects.request_paths import find_segment_problem, is_segment, join_path, split_path


@pytest.mark.parametrize("text", ["{}", "a{}", "{}\n", "{}z"])
def test_each_character_is_encoded_as_quoting_encodes_it(text):
    for number in (*range(1, 0x250), 0x20AC, 0xD800, 0x1F600):
        segment = text.format(chr(number))

        assert join_path(segment) == "/" + quote(segment, safe="$&+=:@", errors="replace")


def test_path_leads_back_to_its_segments():
    segments = ("apis", "apps", "v1", "namespaces", "shop", "deployments", "a b:c@d")

    assert split_path(join_path(*segments[:4], "", *segments[4:])) == segments


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("web", ""),
        ("a.b", ""),
        (".", "may not be '.'"),
        ("..", "may not be '..'"),
        ("a/b", "may not contain '/'"),
        ("a%2fb/", "may not contain '/' may not contain '%'"),
    ],
)
def test_text_that_would_lead_elsewhere_is_no_segment(text, problem):
    assert find_segment_problem(text) == problem
    assert is_segment(text) is not bool(problem)


@pytest.mark.parametrize("path", ["", "api/v1", "/api//v1", "/api/v1/pods/..", "/api/v1/pods/a%2Fb", "/api/%2e"])
def test_path_that_is_not_made_of_segments_has_none(path):
    assert split_path(path) is None
