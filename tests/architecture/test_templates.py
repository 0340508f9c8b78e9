"""Pages keep to the content security policy and to the catalogue of messages."""

import re

import pytest

from tests.architecture.tracked import ROOT, files_below

TEMPLATES = files_below("templates", ".html")
LINE_WALL = 140
INLINE = re.compile(
    r"""<style\b|\sstyle\s*=|\son[a-z]+\s*=\s*["']|<script\b(?![^>]*\bsrc=)|javascript:""", re.IGNORECASE
)
TAG_OR_COMMENT = re.compile(r"\{%.*?%\}|\{\{.*?\}\}|\{#.*?#\}|<!--.*?-->|<[^>]*>|&[a-z]+;", re.DOTALL)
TRANSLATED = re.compile(r"\{%\s*blocktrans(late)?\b.*?\{%\s*endblocktrans(late)?\s*%\}", re.DOTALL)
COMMENTED = re.compile(r"\{%\s*comment\b.*?\{%\s*endcomment\s*%\}", re.DOTALL)
# The product's own name (set as two words in the bar), and words of Kubernetes that are the same in every language.
SAME_EVERYWHERE = {"applyviz", "apply", "viz", "kubectl", "curl", "yaml", "json", "resourceversion", "uid"}


def test_there_are_templates():
    assert len(TEMPLATES) > 5


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: str(path.relative_to(ROOT)))
def test_template_holds_no_inline_style_or_script(path):
    assert [found.group(0) for found in INLINE.finditer(path.read_text())] == []


# Drawn when nothing else works, so it may depend on nothing, the catalogue neither.
@pytest.mark.parametrize(
    "path", [path for path in TEMPLATES if path.name != "500.html"], ids=lambda path: str(path.relative_to(ROOT))
)
def test_template_marks_its_words_for_translation(path):
    text = TAG_OR_COMMENT.sub(" ", TRANSLATED.sub(" ", COMMENTED.sub(" ", path.read_text())))

    words = {word.lower() for word in re.findall(r"[A-Za-z]{3,}", text)}

    assert words - SAME_EVERYWHERE == set()


@pytest.mark.parametrize(
    "path", files_below("templates", ".html", ".svg"), ids=lambda path: str(path.relative_to(ROOT))
)
def test_template_has_no_long_line(path):
    long_ones = {
        number: len(line) for number, line in enumerate(path.read_text().splitlines(), start=1) if len(line) > LINE_WALL
    }

    assert long_ones == {}
