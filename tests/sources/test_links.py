"""Addresses of pages on GitHub and GitLab, and the raw files behind them."""

from __future__ import annotations

import pytest

from applyviz.engine.objects.errors import SourceError
from applyviz.sources.links import describe_status, find_raw
from applyviz.sources.pinned import FetchPolicy
from applyviz.sources.url import fetch
from tests.sources.servers import reply, serving

GITHUB = "https://github.com/owner/repo"
RAW = "https://raw.githubusercontent.com/owner/repo"


@pytest.mark.parametrize(
    ("page", "raw"),
    [
        (f"{GITHUB}/blob/main/deploy/app.yaml", f"{RAW}/main/deploy/app.yaml"),
        (f"{GITHUB}/blob/main/app.yaml?plain=1#L10-L20", f"{RAW}/main/app.yaml"),
        (f"{GITHUB}/blame/v1.2.3/app.yaml", f"{RAW}/v1.2.3/app.yaml"),
        (f"{GITHUB}/edit/feature/x/app.yaml", f"{RAW}/feature/x/app.yaml"),
        (f"{GITHUB}/raw/refs/heads/main/app.yaml", f"{RAW}/refs/heads/main/app.yaml"),
        ("https://WWW.GitHub.com/owner/repo/blob/main/app.yaml", f"{RAW}/main/app.yaml"),
        (f"{GITHUB}/releases/download/v1/install.yaml", ""),
        (f"{RAW}/main/app.yaml", ""),
        ("https://gist.github.com/person/0123abcd", "https://gist.github.com/person/0123abcd/raw"),
        ("https://gist.github.com/person/0123abcd/raw", ""),
        (
            "https://gitlab.com/group/sub/project/-/blob/main/k8s/app.yaml?ref_type=heads",
            "https://gitlab.com/group/sub/project/-/raw/main/k8s/app.yaml",
        ),
        (
            "https://git.example:8443/team/app/-/blame/v1/app.yaml#L3",
            "https://git.example:8443/team/app/-/raw/v1/app.yaml",
        ),
        ("https://gitlab.com/group/project/-/raw/main/app.yaml", ""),
        ("https://gitlab.com/group/project/-/blob/main", ""),
        ("https://example.com/owner/repo/blob/main/app.yaml", ""),
        ("https://[broken", ""),
    ],
)
def test_page_of_a_file_leads_to_its_raw_form(page: str, raw: str) -> None:
    assert find_raw(page) == raw


@pytest.mark.parametrize(
    "page",
    [
        GITHUB,
        "https://github.com/",
        f"{GITHUB}/tree/main/deploy",
        f"{GITHUB}/pull/7",
        f"{GITHUB}/releases/tag/v1",
        "https://gitlab.com/group/project/-/tree/main/deploy",
    ],
)
def test_page_of_a_folder_is_refused_with_what_to_do(page: str) -> None:
    with pytest.raises(SourceError, match="link to each file, or enter repository and path as a git repository"):
        find_raw(page)


@pytest.mark.parametrize(
    ("status", "advice"),
    [
        (401, "it asks for a sign-in, and links are fetched without one; upload the file instead"),
        (403, "it asks for a sign-in, and links are fetched without one; upload the file instead"),
        (404, "check the link; a file that needs a sign-in looks missing too, so upload it instead"),
        (410, "check the link; a file that needs a sign-in looks missing too, so upload it instead"),
        (418, "check the link"),
        (429, "try again later, or upload the file instead"),
        (503, "try again later, or upload the file instead"),
    ],
)
def test_failed_fetch_says_what_to_do(status: int, advice: str) -> None:
    assert describe_status("git.example", status) == f"git.example answered {status}: {advice}"


def test_redirect_to_what_is_no_address_is_refused() -> None:
    with serving({"/a": reply(302, Location="//[lost")}) as server:
        policy = FetchPolicy(internal=(f"http://localhost:{server.port}",), failure_seconds=0.0)
        with pytest.raises(SourceError, match=r"^localhost leads to an address that cannot be read$"):
            fetch(server.url(path="/a"), policy=policy, now="now")
