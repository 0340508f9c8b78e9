"""Attacks on the isolation of rendering: a hostile program reaches no network, no file, no secret, and no limit's end.

Each attack first succeeds outside, so that a refusal inside is the isolation's.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from applyviz.engine.objects.errors import SourceError
from applyviz.sources.rendering import choose, contained, isolation
from applyviz.sources.rendering.client import ask_renderer, check_renderer
from applyviz.sources.rendering.job import DEFAULT_LIMITS, HELM, KUSTOMIZE, Rendered, RenderJob, RenderLimits

BASH = shutil.which("bash") or ""
ROOT = Path(__file__).parents[2]
QUICK = RenderLimits(seconds=60.0, cpu_seconds=2, disk_bytes=4 * 1024**2, output_bytes=100_000, processes=40)

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux" or not BASH, reason="namespaces are Linux's"),
    pytest.mark.skipif(
        sys.platform == "linux" and bool(isolation.find_obstacle()),
        reason=f"no namespaces: {isolation.find_obstacle()}",
    ),
]


def job(script: str, **files: bytes) -> RenderJob:
    return RenderJob(HELM, ("-c", script), tuple((name.replace("__", "/"), data) for name, data in files.items()))


def attack(script: str, limits: RenderLimits = QUICK, **files: bytes) -> Rendered:
    return isolation.run_isolated(job(script, **files), (BASH,), limits)


def outside(script: str, **environment: str) -> str:
    done = subprocess.run([BASH, "-c", script], capture_output=True, text=True, env={**os.environ, **environment})
    return done.stdout


@pytest.fixture
def listener() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def test_program_sees_its_tree_and_nothing_else() -> None:
    found = attack("echo $PWD; echo $(<a/b.txt); echo /* /home/* /tmp/* /dev/*", a__b=b"")

    assert found.output.decode().splitlines()[0] == "/tree"
    seen = set(attack("echo /* /dev/*").output.decode().split())
    assert seen <= {"/dev", "/home", "/tree", "/tmp", "/usr", "/lib", "/lib64", "/dev/null"}


def test_tree_is_read_and_written_in_its_own_file_system(tmp_path: Path) -> None:
    found = attack(
        f"echo $(<sub/file); echo x > sub/file; echo y > {tmp_path}/out; echo $(<sub/file)", sub__file=b"content"
    )

    assert found.output.decode().split() == ["content", "x"]
    assert list(tmp_path.iterdir()) == []


def test_no_network(listener: int) -> None:
    reach = f"exec 3<>/dev/tcp/127.0.0.1/{listener} && echo reached"
    assert outside(reach) == "reached\n"

    found = attack(reach)

    assert found.output == b""
    assert "Network is unreachable" in found.errors or "Connection refused" in found.errors


@pytest.mark.parametrize("path", ["/etc/passwd", "/proc/self/environ", "/proc/1/environ", "/sys/kernel/hostname"])
def test_no_files_of_the_host(path: str) -> None:
    found = attack(f"echo $(<{path})")

    assert "No such file or directory" in found.errors
    assert found.output.strip() == b""


def test_no_file_of_the_person_who_runs_it(tmp_path: Path) -> None:
    secret = tmp_path / "key"
    secret.write_text("hunter2")
    assert outside(f"echo $(<{secret})") == "hunter2\n"

    found = attack(f"echo $(<{secret}) $(<../..{secret}) $(</tree/../..{secret})")

    assert b"hunter2" not in found.output
    assert "No such file or directory" in found.errors


def test_no_secret_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("APPLYVIZ_OPENING_KEYS", "hunter2")
    assert "hunter2" in outside("set")

    found = attack("set")

    assert b"hunter2" not in found.output
    assert b"KUBECONFIG=/dev/null" in found.output


def test_no_descriptor_of_the_parent(tmp_path: Path) -> None:
    secret = tmp_path / "key"
    secret.write_text("hunter2")
    with secret.open() as file:
        os.set_inheritable(file.fileno(), True)
        found = attack(f"echo $(<&{file.fileno()})")

    assert b"hunter2" not in found.output


def test_no_process_of_the_host() -> None:
    found = attack(f"echo $$; kill -0 {os.getpid()} && echo alive")

    assert found.output.decode().split() == ["1"]


def test_no_rights_to_mount_or_to_become_somebody() -> None:
    found = attack("echo $UID $EUID; ulimit -u 100000; ulimit -f unlimited; ulimit -u")

    assert found.output.decode().split() == ["65534", "65534", "40"]


def test_disk_cannot_be_filled(tmp_path: Path) -> None:
    fill = "line=$(printf '%65536s' x); for i in {1..2000}; do echo \"$line\" >> /tmp/$((i % 9)) || exit 3; done"

    found = attack(fill)

    assert found.code == 3
    assert "No space left on device" in found.errors


def test_one_file_cannot_be_larger_than_the_disk() -> None:
    limits = RenderLimits(**{**{n: getattr(QUICK, n) for n in QUICK.__struct_fields__}, "disk_bytes": 1024**2})
    found = attack("line=$(printf '%65536s' x); while echo \"$line\" >> /tmp/x; do :; done; echo ended", limits)

    assert found.output == b"ended\n" or found.code < 0


def test_forks_end_with_the_program() -> None:
    before = time.monotonic()

    found = attack("bomb() { bomb | bomb & }; bomb; i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; echo over")

    assert time.monotonic() - before < 60
    assert "Resource temporarily unavailable" in found.errors
    assert _count_of_nobody("bomb") == 0


def test_child_that_leaves_its_group_ends_too() -> None:
    found = attack("(trap '' HUP TERM; coproc read left1; wait) > /dev/null 2>&1 & disown; echo started")

    assert found.output == b"started\n"
    time.sleep(0.2)
    assert _count_of_nobody("left1") == 0


def _count_of_nobody(mark: str) -> int:
    count = 0
    for line in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            count += mark.encode() in line.read_bytes() and str(os.getpid()) != line.parent.name
        except OSError:
            continue
    return count


@pytest.mark.core(1)
@pytest.mark.parametrize(
    ("script", "said"),
    [
        (
            "while :; do echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; done",
            "the rendered manifests are larger than 100,000",
        ),
        ("while :; do echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx >&2; done", "the rendered manifests are larger than"),
        ("while :; do :; done", "helm took longer than 2 seconds of computing"),
    ],
)
def test_limits_are_said(script: str, said: str) -> None:
    with pytest.raises(SourceError, match=said):
        attack(script)


def test_waiting_ends() -> None:
    limits = RenderLimits(seconds=1.0)
    with pytest.raises(SourceError, match="rendering took longer than 1 seconds"):
        attack("coproc read x; wait", limits)


def test_memory_is_limited() -> None:
    limits = RenderLimits(seconds=20.0, memory_bytes=64 * 1024**2)
    found = attack("x=xxxxxxxxxxxxxxxx; while :; do x=$x$x; done; echo over", limits)

    assert found.code != 0
    assert b"over" not in found.output


@pytest.mark.parametrize("name", ["../out", "a/../../out", "/etc/out"])
def test_tree_has_no_file_outside_of_it(name: str) -> None:
    with pytest.raises(SourceError, match="leads out of the tree"):
        isolation.run_isolated(RenderJob(HELM, ("-c", "echo ran"), ((name, b"x"),)), (BASH,), QUICK)


def test_program_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(SourceError) as of_helm:
        choose.run_here(job(""), search=str(tmp_path))
    with pytest.raises(SourceError) as of_kustomize:
        choose.run_here(RenderJob(KUSTOMIZE, (), ()), search=str(tmp_path))

    assert str(of_helm.value) == (
        "a chart needs the program helm on the server, which is not installed; upload the rendered manifests instead"
    )
    assert "a kustomization needs the program kustomize or kubectl on the server" in str(of_kustomize.value)


def test_kustomize_goes_before_kubectl(tmp_path: Path) -> None:
    for name in ("kubectl", "kustomize"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    assert choose.find_command(KUSTOMIZE, str(tmp_path)) == (str(tmp_path / "kustomize"), "build")
    (tmp_path / "kustomize").unlink()
    assert choose.find_command(KUSTOMIZE, str(tmp_path)) == (str(tmp_path / "kubectl"), "kustomize")


WITHOUT_NAMESPACES = """
echo 0 > /proc/sys/user/max_user_namespaces
exec "$0" -c '
import sys
from applyviz.engine.objects.errors import SourceError
from applyviz.sources.rendering import choose
from applyviz.sources.rendering.job import RenderJob
try:
    choose.run_here(RenderJob("helm", ("-c", "echo ran"), ()), search=sys.argv[1])
except SourceError as error:
    print(error)
' "$1"
"""


def run_without_namespaces(script: str, *words: str) -> str:
    """What a script prints where no further namespace may be made."""
    command = ["unshare", "--user", "--map-root-user", "--net", "--", "sh", "-c", script, sys.executable, *words]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_without_namespaces_nothing_runs(tmp_path: Path) -> None:
    (tmp_path / "helm").symlink_to(BASH)

    said = run_without_namespaces(WITHOUT_NAMESPACES, str(tmp_path))

    assert said == (
        "rendering runs only in isolation, and this machine does not allow that (unshare: No space left on device): "
        "upload the rendered manifests, or let a renderer service render (APPLYVIZ_RENDERER_SOCKET)"
    )


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hostile shell in place of helm."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "helm").symlink_to(BASH)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")


def start_service(path: Path, *prefix: str) -> subprocess.Popen[bytes]:
    command = [*prefix, sys.executable, "-m", "applyviz.sources.rendering.service", str(path)]
    process = subprocess.Popen(command, cwd=ROOT)
    for _ in range(200):
        if path.exists():
            return process
        assert process.poll() is None
        time.sleep(0.05)
    raise AssertionError("the service did not start")


@pytest.fixture
def service(tmp_path: Path, programs: None) -> Iterator[str]:
    path = tmp_path / "socket"
    process = start_service(path)
    yield str(path)
    process.terminate()
    assert process.wait(10) == 0


@pytest.fixture
def container(tmp_path: Path, programs: None) -> Iterator[str]:
    """The service where no namespace may be made, without a network: as in a container."""
    path = tmp_path / "socket"
    script = 'echo 0 > /proc/sys/user/max_user_namespaces; exec "$0" "$@"'
    process = start_service(path, "unshare", "--user", "--map-root-user", "--net", "--", "sh", "-c", script)
    yield str(path)
    process.terminate()
    assert process.wait(10) == 0


def test_service_isolates_and_answers(service: str, listener: int) -> None:
    assert check_renderer(service) == "namespaces"
    found = ask_renderer(
        service, job(f"echo $(<a); echo $(</etc/passwd); : > /dev/tcp/127.0.0.1/{listener}; exit 4", a=b"x")
    )

    assert (found.code, found.output.split()) == (4, [b"x"])
    assert "No such file or directory" in found.errors


@pytest.mark.long
def test_service_answers_refusals_and_several_at_once(service: str) -> None:
    with pytest.raises(SourceError, match="rendering took longer than 1 seconds"):
        ask_renderer(service, job("while :; do :; done"), RenderLimits(seconds=1.0))
    found: list[bytes] = []
    asking = [
        threading.Thread(target=lambda n=n: found.append(ask_renderer(service, job(f"echo {n}")).output))
        for n in range(5)
    ]
    for thread in asking:
        thread.start()
    for thread in asking:
        thread.join(60)
    assert sorted(found) == [b"0\n", b"1\n", b"2\n", b"3\n", b"4\n"]


def test_service_grants_no_more_than_its_own_limits(service: str) -> None:
    greedy = RenderLimits(processes=100_000, cpu_seconds=9_000)

    found = ask_renderer(service, job("ulimit -u; ulimit -t"), greedy)

    assert found.output.split() == [str(DEFAULT_LIMITS.processes).encode(), str(DEFAULT_LIMITS.cpu_seconds).encode()]


@pytest.mark.core(2)
@pytest.mark.parametrize(
    "sent", [b"", b"{}\n", b"[1]\n", b'{"program": "sh", "arguments": [], "files": []}\n', b"x" * 100]
)
def test_service_survives_other_messages(service: str, sent: bytes) -> None:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(service)
        connection.sendall(sent)
        connection.shutdown(socket.SHUT_WR)
        answer = connection.makefile("rb").read()

    assert answer.startswith(b'{"refused": ')
    assert check_renderer(service) == "namespaces"


def test_service_that_is_away_is_said(tmp_path: Path) -> None:
    for ask in (lambda: check_renderer(str(tmp_path / "no")), lambda: ask_renderer(str(tmp_path / "no"), job(""))):
        with pytest.raises(SourceError, match="the renderer service does not answer"):
            ask()


def test_container_without_network_is_the_isolation(container: str, listener: int) -> None:
    assert check_renderer(container) == "container"
    found = ask_renderer(container, job(f"echo $(<a); set; : > /dev/tcp/127.0.0.1/{listener}", a=b"content"))

    assert found.output.startswith(b"content")
    assert b"PATH=/nonexistent" in found.output
    assert "Network is unreachable" in found.errors


def test_container_ends_what_a_job_leaves(container: str) -> None:
    mark = f"left{os.getpid()}"
    script = f"(trap '' HUP TERM; coproc read {mark}; wait) > /dev/null 2>&1 & disown; echo started"

    found = ask_renderer(container, job(script))

    assert found.output == b"started\n"
    assert ask_renderer(container, job("echo next")).output == b"next\n"
    assert _count_of_nobody(mark) == 0


def test_container_with_a_network_renders_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contained, "has_network", lambda: True)
    with pytest.raises(SourceError, match="the renderer service has a network, so it renders nothing"):
        contained.run_contained(job("echo ran"), (BASH,))


def test_network_is_found() -> None:
    script = "from applyviz.sources.rendering.contained import has_network; print(has_network())"
    alone = ["unshare", "--user", "--map-root-user", "--net", "--", sys.executable, "-c", script]

    assert subprocess.run(alone, cwd=ROOT, capture_output=True, text=True, check=True).stdout == "False\n"
    has_routes = len(Path("/proc/net/route").read_text().splitlines()) > 1
    assert contained.has_network() is has_routes
