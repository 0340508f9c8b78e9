"""Pages keep to the content security policy and to the catalogue of messages."""

import re
from collections.abc import Callable, Iterable
from pathlib import Path

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


def find_in(paths: Iterable[Path], find: Callable[[str], Iterable[object]]) -> dict[str, list[object]]:
    """Return the findings in each file, by file name."""
    found = {str(path.relative_to(ROOT)): list(find(path.read_text())) for path in paths}
    return {name: wrong for name, wrong in found.items() if wrong}


def find_bare_words(template: str) -> set[str]:
    """The words that no tag marks for translation."""
    text = TAG_OR_COMMENT.sub(" ", TRANSLATED.sub(" ", COMMENTED.sub(" ", template)))
    return {word.lower() for word in re.findall(r"[A-Za-z]{3,}", text)} - SAME_EVERYWHERE


def test_templates_hold_no_inline_style_or_script():
    assert find_in(TEMPLATES, lambda text: [found.group(0) for found in INLINE.finditer(text)]) == {}


def test_templates_mark_their_words_for_translation():
    # Drawn when nothing else works, so it may depend on nothing, the catalogue neither.
    assert find_in((path for path in TEMPLATES if path.name != "500.html"), find_bare_words) == {}


def test_templates_have_no_long_line():
    paths = files_below("templates", ".html", ".svg")

    assert find_in(paths, lambda text: [line for line in text.splitlines() if len(line) > LINE_WALL]) == {}


def test_what_is_wrong_in_a_template_is_found():
    assert find_bare_words('{% translate "Fine" %} <p class="x">Bare</p> {# hidden #}') == {"bare"}
    assert INLINE.search('<p style="color: red">')
    assert INLINE.search("<script>x</script>")


SLICED = re.compile(r"""for \w+ in ([\w.]+)\|slice:":(\d+)\"""")


def find_silent(template: str) -> list[str]:
    """The lists that are cut without a count of what is left out."""
    cut = SLICED.findall(template)
    return [name for name, shown in cut if f'{name}|length|add:"-{shown}"' not in template]


def test_lists_that_are_cut_count_what_is_left_out():
    assert find_in(TEMPLATES, find_silent) == {}


def test_list_that_is_cut_is_found():
    assert find_silent('{% for path in tree.gained|slice:":30" %}') == ["tree.gained"]
