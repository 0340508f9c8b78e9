"""The paths of requests: each segment is encoded as url.PathEscape of Go encodes it."""

from urllib.parse import quote

import pytest

from applyviz.engine.objects.request_paths import join_path, split_path


@pytest.mark.parametrize("text", ["{}", "a{}", "{}\n", "{}z"])
def test_each_character_is_encoded_as_quoting_encodes_it(text):
    for number in (*range(1, 0x250), 0x20AC, 0xD800, 0x1F600):
        segment = text.format(chr(number))

        assert join_path(segment) == "/" + quote(segment, safe="$&+=:@", errors="replace")


def test_path_leads_back_to_its_segments():
    segments = ("apis", "apps", "v1", "namespaces", "shop", "deployments", "a b:c@d")

    assert split_path(join_path(*segments[:4], "", *segments[4:])) == segments
