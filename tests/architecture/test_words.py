"""The project speaks of the product alone: no workplace paths, no registries, nothing left to do."""

import re

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
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
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
