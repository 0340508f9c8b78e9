"""The search for unused code finds what nothing uses, and knows how templates, queries and settings use a name."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts.dead_code import find_unused

RULES = {"paths": ["applyviz"], "exclude": [], "ignore_names": ["kept*"], "ignore_decorators": ["@register*"]}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    files = {
        "templates/page.html": "{% if page.shown %}{{ page.printed|wrapped }}{% endif %}",
        "applyviz/settings.py": "LOGGING = {'class': 'applyviz.pages.Handler'}\nAPPLYVIZ_SPARE = 1\n",
        "applyviz/records/models/runs.py": "class Run:\n    asked_at = 1\n    never = 2\n",
        "applyviz/pages.py": (
            "from applyviz.records.models.runs import Run\n"
            "class Page:\n    shown = 1\n    printed = 2\n    hidden = 3\n"
            "class Handler:\n    pass\n"
            "@register\ndef seen():\n    pass\n"
            "def wrapped():\n    pass\n"
            "def kept_for_later():\n    pass\n"
            "def spare():\n    return Page, Run.filter(asked_at__gt=1)\n"
        ),
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_unused_names_are_found_and_used_ones_are_not(tree):
    assert set(find_unused(tree, RULES)) == {
        "applyviz/pages.py:5: unused variable hidden",
        "applyviz/pages.py:15: unused function spare",
        "applyviz/records/models/runs.py:3: unused variable never",
        "applyviz/settings.py:2: unused variable APPLYVIZ_SPARE",
    }
