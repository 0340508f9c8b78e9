"""A refused question names the lines that its author wrote, also where secrets are masked before it is calculated."""

from __future__ import annotations

import re
from html import unescape

import pytest
from django.test import Client

from tests.attacks.conftest import find_leaks
from tests.stories import config_map

pytestmark = [pytest.mark.attacks, pytest.mark.django_db]
CANARY = "zQ71x7WvK-opened"
LABELED = config_map(a="1").replace("metadata:", "metadata:\n  labels: {app: shop}", 1)
SECRET = f"""\
# What is in a comment, or in another style,
# is gone where a text was masked.
apiVersion: v1
kind: Secret
metadata: {{name: login, labels: {{app: shop}}}}
stringData: {{password: {CANARY}, other: {CANARY}}}
"""
UNKNOWN = f"{SECRET}---\napiVersion: v1\nkind: Nothing\nmetadata: {{name: a, labels: {{app: shop}}}}\n"
WRONG = UNKNOWN.replace("Nothing", "ConfigMap") + "data: {a: 1}\n"
LIST = f"""\
apiVersion: v1
kind: List
items:
- {{apiVersion: v1, kind: Secret, metadata: {{name: a}}, stringData: {{a: {CANARY}}}}}
- {{apiVersion: v1, kind: Nothing, metadata: {{name: b}}}}
"""


def read_errors(client: Client, address: str, given: dict[str, str]) -> str:
    """Return the errors beside the fields of a refused form."""
    answer = client.post(address, given)
    assert answer.status_code == 422
    found = re.findall(r'class="error" id="id_\w+_error">(.*?)</p>', answer.content.decode(), re.DOTALL)
    return unescape(" ".join(found))


@pytest.mark.parametrize(
    ("cluster", "said"),
    [
        (UNKNOWN, 'line 8: no matches for kind "Nothing"'),
        (WRONG, "line 8: ConfigMap a is no object of its kind"),
        (LIST, 'line 5: no matches for kind "Nothing"'),
    ],
)
def test_error_about_a_set_names_the_line_that_was_written(client: Client, cluster: str, said: str) -> None:
    given = {"prune": "allowlist", "selector": "app=shop", "manifest": LABELED, "cluster": cluster}

    told = read_errors(client, "/playground/sets/", given)

    assert told.startswith(said)
    assert CANARY not in told
    assert find_leaks(CANARY) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (UNKNOWN, 'line 8: no matches for kind "Nothing"'),
        (WRONG, "cannot unmarshal number"),
        (LIST, "line 5: no matches"),
    ],
)
def test_error_about_what_was_applied_before_names_the_line_that_was_written(
    client: Client, text: str, said: str
) -> None:
    given = {"prune": "none", "manifest": LABELED, "before": text}

    told = read_errors(client, "/playground/sets/", given)

    assert said in told
    assert not re.search(r"before:[0-9]|line (?!5|8)", told)
    assert CANARY not in told


def test_error_about_live_names_the_line_that_was_written(client: Client) -> None:
    other = SECRET.replace("name: login", "name: other")
    given = {"manifest": SECRET, "live": f"{other}# end\n", "mode": "server", "field_manager": "kubectl"}

    told = read_errors(client, "/playground/", given)

    assert told.startswith("line 3: this is Secret other, but the manifest is Secret login")
    assert CANARY not in told
