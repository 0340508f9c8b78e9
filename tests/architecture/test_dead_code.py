"""The searches for unused code find what nothing uses, and know how templates, queries and settings use a name."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts import dead_assets, dead_members, dead_names
from scripts.dead_code import find_unused

RULES = {"paths": ["applyviz"], "ignore_names": ["kept*"], "ignore_decorators": ["@register*"]}


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
    write(tmp_path, files)
    return tmp_path


def test_unused_names_are_found_and_used_ones_are_not(tree):
    assert set(find_unused(tree, RULES)) == {
        "applyviz/pages.py:5: unused variable hidden",
        "applyviz/pages.py:15: unused function spare",
        "applyviz/records/models/runs.py:3: unused variable never",
        "applyviz/settings.py:2: unused variable APPLYVIZ_SPARE",
    }


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


def find_unreached(root: Path, files: dict[str, str]) -> list[str]:
    write(root, files)
    listed = dead_names.list_files(root, ["applyviz"])
    found = dead_names.find_unreached(root, listed, RULES["ignore_decorators"])
    return [line.replace(": nothing reaches", "") for line in found]


def test_name_of_another_module_is_no_use(tmp_path):
    files = {
        "applyviz/urls.py": "from applyviz.a import make as build\nurlpatterns = [build]\n",
        "applyviz/a.py": "def make():\n    return 1\ndef show():\n    return show()\n",
        "applyviz/b.py": "def show():\n    return 1\nshow()\n",
    }

    assert find_unreached(tmp_path, files) == ["applyviz/a.py:3 show"]


def test_what_only_unreached_code_reads_is_unreached(tmp_path):
    files = {"applyviz/a.py": "_MOST = 3\ndef first():\n    return _MOST\ndef second():\n    return first()\n"}

    assert find_unreached(tmp_path, files) == [
        "applyviz/a.py:1 _MOST",
        "applyviz/a.py:2 first",
        "applyviz/a.py:4 second",
    ]


def test_local_name_is_no_use_and_a_shared_one_is(tmp_path):
    text = (
        "kind = 1\nseen = 2\ndef run(kind):\n    global seen\n    seen = seen + kind\n"
        "    return [kind for kind in ()]\nrun(1)\n"
    )

    assert find_unreached(tmp_path, {"applyviz/a.py": text}) == ["applyviz/a.py:1 kind"]


def test_name_is_followed_through_doors_modules_texts_and_decorators(tmp_path):
    files = {
        "applyviz/__init__.py": "",
        "applyviz/urls.py": (
            "from importlib import import_module\nimport applyviz.room as door\nfrom applyviz import room\n"
            "urlpatterns = [door.first, room.inner.second, 'applyviz.started']\n"
            "def load():\n    return import_module('applyviz.taken').answer\n"
        ),
        "applyviz/room/__init__.py": "from .inner import first\n__all__ = ['first']\n",
        "applyviz/room/inner.py": "def first():\n    pass\ndef second():\n    pass\ndef third():\n    pass\n",
        "applyviz/started.py": "def main():\n    pass\ndef other():\n    pass\n",
        "applyviz/taken.py": "def answer():\n    pass\ndef question():\n    pass\n",
        "applyviz/tags.py": "@register.filter\ndef shown():\n    return _text()\ndef _text():\n    pass\n",
    }

    assert find_unreached(tmp_path, files) == [
        "applyviz/room/inner.py:5 third",
        "applyviz/started.py:3 other",
        "applyviz/taken.py:3 question",
    ]


def test_member_that_is_only_filled_is_unread(tmp_path):
    text = (
        "class Row:\n    title: str\n    count: int\n    shown: str\n    kept_for_later: str\n"
        "    def find(self):\n        count = self.title\n        return Row(title='', count=count)\n"
        "class Handler(logging.Handler):\n    def emit(self):\n        pass\n"
        "class Last(Row):\n    def draw(self):\n        pass\n"
        "Row().find\n"
    )
    write(tmp_path, {"applyviz/a.py": text})

    found = dead_members.find_unread([tmp_path / "applyviz/a.py"], tmp_path, named=["shown"], ignored=["kept*"])

    assert found == ["applyviz/a.py:3: nothing reads Row.count", "applyviz/a.py:13: nothing reads Last.draw"]


def test_unused_parts_of_pages_are_found_and_used_ones_are_not(tmp_path):
    files = {
        "applyviz/pages.py": "def show(name):\n    return f'shop/{name}.html', 'shop/page.html', 'list', 'bad'\n",
        "applyviz/templatetags/shop.py": "\n".join(
            f"@register.filter\ndef {name}():\n    pass" for name in ("priced", "free")
        ),
        "templates/404.html": "",
        "templates/shop/list.html": "",
        "templates/shop/page.html": (
            '{% include "shop/_row.html" %}{{ x|priced }}'
            '<i class="row is-{{ state }}" data-row data-lost data-sought></i>'
        ),
        "templates/shop/_row.html": "",
        "templates/shop/_old.html": '{% include "shop/_older.html" %}',
        "templates/shop/_older.html": "",
        "static/css/shop.css": (
            ":root { --ink: red; --lost: 1px; }\n.row, .is-bad { color: var(--ink); }\n.is-good .gone {}\n"
        ),
        "static/js/shop.js": (
            "function find() { return document.querySelector('[data-row], [data-never]'); }\n"
            "function old() {}\nfind();\n"
        ),
        "static/js/other.js": "",
        "tests/test_shop.py": "page.locator('[data-sought]')\n",
    }
    write(tmp_path, files | {"templates/base.html": "css/shop.css js/shop.js", "applyviz/base.py": "'base.html'\n"})

    assert dead_assets.find_unused(tmp_path) == [
        "templates/shop/_old.html: nothing draws this template",
        "templates/shop/_older.html: nothing draws this template",
        "applyviz/templatetags/shop.py: no template uses free",
        "static/css/shop.css: nothing has the class gone",
        "static/css/shop.css: nothing has the class is-good",
        "static/css/shop.css: nothing reads --lost",
        "static/js/shop.js: nothing calls old",
        "templates/shop/page.html: nothing reads data-lost",
        "static/js/shop.js: nothing has data-never",
        "static/js/other.js: no page loads this file",
    ]
