"""A refused question names the lines that its author wrote, also where secrets are masked before it is calculated."""

from __future__ import annotations

import re
from html import unescape

import pytest
from django.test import Client

from applyviz.engine.channels.choosing import hash_manifest
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


CHANNEL = "kind: Addons\nspec:\n  addons:\n  - {name: dns, manifest: dns.yaml}\n"


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


@pytest.mark.parametrize(("cluster", "line"), [(UNKNOWN, 8), (LIST, 5)])
def test_error_about_a_channel_names_the_line_that_was_written(client: Client, cluster: str, line: int) -> None:
    given = {"channel": CHANNEL, "kubernetes": "v1.36.3", "cluster": cluster}

    told = read_errors(client, "/playground/channels/", given)

    assert told.startswith(f'line {line}: no matches for kind "Nothing"')
    assert CANARY not in told
    assert find_leaks(CANARY) == []


def test_error_about_the_manifest_of_an_addon_names_its_line(client: Client) -> None:
    given = {"channel": CHANNEL, "kubernetes": "v1.36.3", "manifests": f"# File: dns.yaml\n{SECRET}---\na: [\n"}

    told = read_errors(client, "/playground/channels/", given)

    assert told.startswith("dns.yaml, line 9")
    assert CANARY not in told


def test_secrets_of_a_channel_are_neither_kept_nor_shown(client: Client) -> None:
    address = f"https://kops:{CANARY}@example.com/dns.yaml"
    given = {
        "channel": CHANNEL.replace("manifest: dns.yaml", f'manifest: "{address}", manifestHash: {hash_manifest(b"x")}'),
        "kubernetes": "v1.36.3",
        "manifests": f"# File: example.com/dns.yaml\n{SECRET}",
        "cluster": SECRET.replace("login", "other"),
    }

    answer = client.post("/playground/channels/", given)
    page = client.get(answer.headers["Location"].partition("#")[0]).content.decode()

    assert CANARY[:8] not in page
    assert find_leaks(CANARY) == []
    assert "example.com/dns.yaml holds secrets, which are masked: its hash is not checked." in page
    assert "Secret/login" in re.sub(r"<wbr>", "", page)


def test_hash_of_a_masked_manifest_does_not_tell_whether_a_guess_was_right(client: Client) -> None:
    texts = []
    for value in (CANARY, "another-value"):
        manifest = SECRET.replace(CANARY, value)
        channel = CHANNEL.replace("dns.yaml", f"dns.yaml, manifestHash: {hash_manifest(SECRET.encode())}")
        given = {"channel": channel, "kubernetes": "v1.36.3", "manifests": f"# File: dns.yaml\n{manifest}"}
        answer = client.post("/playground/channels/", given)
        page = client.get(answer.headers["Location"].partition("#")[0]).content.decode()
        texts.append(re.sub(r"\u27eamasked [0-9a-f]+", "", page.partition('class="set-answer"')[2]))

    assert texts[0] == texts[1]
    assert "Not planned" not in texts[0]
