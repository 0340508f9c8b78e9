"""Calls that only Linux or GNU has come with a fallback, because most developers use a Mac."""

import re

import pytest

from tests.architecture.tracked import ROOT, files_below, tracked_files

# A call that only Linux has, and what the same file must hold for a machine without it.
FALLBACKS = {
    r"sched_getaffinity\(": 'hasattr(os, "sched_getaffinity")',
    r"RLIMIT_AS\b": 'sys.platform != "darwin"',
    r'which\("unshare"\)': "if unshare is None",
    r"/proc/": "suppress(OSError)",
    r"\bos\.(?:memfd_create|pidfd_open|eventfd|unshare|setns|pipe2|posix_fadvise)\(": "hasattr(os",
    r"\bselect\.epoll\b": 'hasattr(select, "epoll")',
    r"\bprctl\b": 'sys.platform == "linux"',
    r"get_context\(\"fork": 'sys.platform == "linux"',
}
# Options that GNU programs have and those of macOS lack, or understand otherwise.
GNU_ONLY = re.compile(
    r"readlink -f|sed -i(?! '')|date -d|date --|stat -c|grep -[a-zA-Z]*P|xargs -[a-z]*r\b|\bnproc\b|\bflock\b|cp --"
    r"|\btimeout \d|\bmapfile\b|\breadarray\b|declare -A|\bsetsid\b|\btac\b|sort -V|mktemp --|/proc/|\$\{\w+(?:\^|,,)"
)


def find_without_fallback(text: str) -> list[str]:
    return [call for call, fallback in FALLBACKS.items() if re.search(call, text) and fallback not in text]


def list_scripts():
    below = ROOT / "scripts"
    for path in tracked_files():
        if path.parent == below and path.suffix in ("", ".sh"):
            yield path


def test_calls_of_linux_have_a_fallback():
    found = {
        path.relative_to(ROOT).as_posix(): wrong
        for path in files_below("applyviz", ".py")
        if (wrong := find_without_fallback(path.read_text(encoding="utf-8")))
    }

    assert found == {}


def test_scripts_use_nothing_that_only_gnu_has():
    scripts = list(list_scripts())
    found = {path.name: match[0] for path in scripts if (match := GNU_ONLY.search(path.read_text(encoding="utf-8")))}

    assert {"run", "test", "venv.sh"} <= {path.name for path in scripts}
    assert found == {}


@pytest.mark.parametrize("text", ["len(os.sched_getaffinity(0))", 'open("/proc/self/status")', "select.epoll()"])
def test_call_without_a_fallback_is_found(text):
    assert len(find_without_fallback(text)) == 1


@pytest.mark.parametrize("text", ["sed -i s/a/b/ file", "readlink -f .", "date -d yesterday", "echo ${name^}"])
def test_option_of_gnu_is_found(text):
    assert GNU_ONLY.search(text)
