"""The project speaks of the product alone, and docs/words.md lists every sentence that it can show."""

import re

from scripts import words
from tests.architecture.tracked import ROOT, tracked_files

# Each pattern is broken up so that this file does not hold what it forbids.
FORBIDDEN = {
    "a workplace path": r"(?<![\w.])/wor" r"k/|/roo" r"t/|\.\./shar" r"ed\b",
    "a registry": r"\b(docker|ghcr|quay|gcr)\.i"
    r"o\b|registry\.k8s\.i"
    r"o|registry\.npm"
    r"js|files\.pythonhoste"
    r"d|\bpypi\.or"
    r"g",
    "something left to do": r"\b(TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b",
}
TEXT = {".py", ".md", ".html", ".css", ".js", ".toml", ".yml", ".yaml", ".txt", ".go", ".mod", ".json", ""}
LEFT_OUT = {"go.sum", "LICENSE"}


def test_tracked_files_hold_no_forbidden_words():
    found = []
    for path in tracked_files():
        if path.suffix not in TEXT or path.name in LEFT_OUT or "vendor" in path.parts:
            continue
        text = path.read_text(errors="replace")
        if not any(re.search(pattern, text) for pattern in FORBIDDEN.values()):
            continue
        for number, line in enumerate(text.splitlines(), 1):
            found += [
                f"{path.relative_to(ROOT)}:{number}: {what}: {line.strip()[:100]}"
                for what, pattern in FORBIDDEN.items()
                if re.search(pattern, line)
            ]

    assert found == []


def test_locked_requirements_carry_hashes_and_no_index():
    for name in ("requirements.txt", "requirements-dev.txt"):
        text = (ROOT / name).read_text()
        requirements = re.findall(r"(?m)^[A-Za-z0-9_.\-]+==", text)

        assert len(requirements) > 50
        assert "://" not in text
        assert not re.search(r"(?m)^\s*--(extra-|find-|index)", text)
        assert len(re.findall(r"(?m)^[A-Za-z0-9_.\-]+==[^\n]*\\\n    --hash=sha256:", text)) == len(requirements)


def test_words_lists_every_sentence():
    written = words.DOCUMENT.read_text(encoding="utf-8")

    assert written == words.render(), "run `python scripts/words.py` and read what changed in docs/words.md"


def test_sentences_of_templates_and_modules_are_found():
    template = (
        '{% translate "Save" %}{% blocktranslate count n=n %}{{ n }} run{% plural %}{{ n }} runs{% endblocktranslate %}'
    )
    module = 'A = _("Plan failed")\nB = "not shown anywhere"\n'

    assert list(words.find_in_template(template)) == ["Save", "{{ n }} run", "{{ n }} runs"]
    assert list(words.find_in_module(module)) == ["Plan failed"]
    assert list(words.find_in_module(module, is_catalogue=True)) == ["Plan failed", "not shown anywhere"]
