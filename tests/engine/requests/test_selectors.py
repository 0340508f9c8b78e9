"""Do label selectors pick what the API server's would?"""

from __future__ import annotations

import pytest

from applyviz.engine.requests.selectors import SelectorError, parse_selector

LABELS = {"app": "shop", "tier": "web", "size": "12", "example.org/x": ""}


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        ("", True),
        ("app=shop", True),
        ("app==shop", True),
        ("app = shop , tier=web", True),
        ("app=other", False),
        ("app!=other", True),
        ("app!=shop", False),
        ("missing!=x", True),
        ("app", True),
        ("missing", False),
        ("!missing", True),
        ("!app", False),
        ("app in (a, shop)", True),
        ("app in (a)", False),
        ("app notin (a,b)", True),
        ("missing notin (a)", True),
        ("missing in (a)", False),
        ("size>11", True),
        ("size<12", False),
        ("app>1", False),
        ("missing<1", False),
        ("example.org/x=", True),
        ("example.org/x in (,a)", True),
        ("app=shop,tier", True),
    ],
)
def test_selector(text, matches):
    assert parse_selector(text).matches(LABELS) is matches


@pytest.mark.parametrize(
    "text",
    [
        "app in a",
        "app in (a",
        "=x",
        "app=shop,",
        "app shop",
        "a b c",
        "-x=1",
        "app>x",
        "app>\u0663",
        "app>" + "9" * 5000,
        "app=a=b",
        "app=(",
        "UP/x=1",
        "a+b",
    ],
)
def test_unreadable_selector(text):
    with pytest.raises(SelectorError, match="unable to parse selector"):
        parse_selector(text)
