"""The process that leaves everything behind and then becomes the program that renders.

It enters new namespaces (user, mount, process, network, IPC, host name), makes an empty file system of limited size its
root, writes the tree there, sets limits and starts the program from an open file. Every step must succeed: a step that
fails ends the process before the program starts. Only `isolation` runs it, as a separate process.

Rules: https://man7.org/linux/man-pages/man7/user_namespaces.7.html and pivot_root(2).
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import resource
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from applyviz.engine.objects.values import JSONObject

FAILED = 97
"""The exit status of a step that failed; the reason is in the last line of the errors."""
MARK = "isolation failed: "
_NOBODY = 65534
_NEW = 0x10000000 | 0x00020000 | 0x20000000 | 0x40000000 | 0x08000000 | 0x04000000  # user, mount, pid, net, ipc, uts
_RDONLY, _NOSUID, _NODEV, _REMOUNT, _BIND, _REC, _PRIVATE = 1, 2, 4, 32, 4096, 16384, 1 << 18
_DETACH = 2
_PDEATHSIG, _DUMPABLE, _NO_NEW_PRIVS = 1, 4, 38
# statvfs flag → mount flag: what a mount has must be said again when it becomes read-only.
_KEPT = {2: _NOSUID, 4: _NODEV, 8: 8, 1024: 1024, 2048: 2048, 4096: 1 << 21}
_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
_BASE = "/tmp"  # noqa: S108 - the new root is mounted over it, in a namespace of our own
_libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


class StepError(Exception):
    """A step of the isolation failed."""


def _call(name: str, *values: object) -> None:
    if _libc is None:
        raise StepError("only Linux has namespaces")
    if getattr(_libc, name)(*values) != 0:
        raise StepError(f"{name}: {os.strerror(ctypes.get_errno())}")


def _mount(source: str, target: str, kind: str, flags: int, data: str = "") -> None:
    values = (source.encode(), target.encode(), kind.encode(), ctypes.c_ulong(flags), data.encode())
    _call("mount", *values)


def call_prctl(option: int, value: int) -> None:
    """Set a property of this process."""
    if sys.platform == "linux":
        _call("prctl", option, ctypes.c_ulong(value), 0, 0, 0)


def _write(path: str, text: str) -> None:
    # Bytes: no codec may have to be imported once the files of this installation are out of reach.
    with Path(path).open("wb", buffering=0) as file:
        file.write(text.encode())


def _become_nobody() -> None:
    """Become nobody if this is the administrator of the machine, whom no limit on processes binds."""
    if os.geteuid() == 0:
        try:
            os.setgroups([])
            os.setresgid(_NOBODY, _NOBODY, _NOBODY)
            os.setresuid(_NOBODY, _NOBODY, _NOBODY)
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.EPERM):  # a namespace that knows one user only: not the real one
                raise
    call_prctl(_DUMPABLE, 1)  # else the maps below belong to the administrator


def enter_namespaces() -> None:
    """Enter new namespaces as an ordinary user of them, whose children have no rights at all."""
    _become_nobody()
    user, group = os.geteuid(), os.getegid()
    _call("unshare", _NEW)
    with suppress(OSError):  # older kernels have no such file, and need none
        _write("/proc/self/setgroups", "deny")
    _write("/proc/self/uid_map", f"{_NOBODY} {user} 1")
    _write("/proc/self/gid_map", f"{_NOBODY} {group} 1")


def _show(path: str, root: str) -> None:
    """Show a folder of the host, read-only; of a symbolic link, the link."""
    target = root + path
    if Path(path).is_symlink():
        Path(target).symlink_to(Path(path).readlink())
        return
    Path(target).mkdir(parents=True, exist_ok=True)
    _mount(path, target, "", _BIND | _REC)
    flags = os.statvfs(target).f_flag
    kept = sum(mount for flag, mount in _KEPT.items() if flags & flag)
    _mount("", target, "", _REMOUNT | _BIND | _RDONLY | kept)


def make_root(disk_bytes: int, shown: list[str]) -> None:
    """Make an empty file system of limited size the only one; nothing of the host stays but what is shown."""
    _mount("", "/", "", _REC | _PRIVATE)
    _mount("tmpfs", _BASE, "tmpfs", _NOSUID | _NODEV, f"size={disk_bytes},nr_inodes=20000,mode=0700")
    for name in ("dev", "home", "tree", "tmp"):
        Path(_BASE, name).mkdir()
    Path(_BASE, "dev/null").touch()
    _mount("/dev/null", f"{_BASE}/dev/null", "", _BIND)
    for path in shown:
        _show(path, _BASE)
    os.chdir(_BASE)
    if _libc is not None and _libc.syscall(_PIVOT_ROOT[os.uname().machine], b".", b".") != 0:
        raise StepError(f"pivot_root: {os.strerror(ctypes.get_errno())}")
    _call("umount2", b".", _DETACH)
    os.chdir("/")


def write_tree(root: str, files: list[tuple[str, bytes]]) -> None:
    """Write files below a folder; their names were checked when they came in, and are here again."""
    for name, data in files:
        if name.startswith("/") or ".." in name.split("/"):
            raise StepError(f"{name} leads out of the tree")
        target = Path(root, name)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)


def set_limits(limits: JSONObject) -> None:
    """Set hard limits on this process and all that it starts."""
    chosen = {
        resource.RLIMIT_CPU: int(limits["cpu_seconds"]),
        resource.RLIMIT_DATA: int(limits["memory_bytes"]),
        resource.RLIMIT_FSIZE: int(limits["disk_bytes"]),
        resource.RLIMIT_NPROC: int(limits["processes"]),
        resource.RLIMIT_NOFILE: 256,
        resource.RLIMIT_CORE: 0,
    }
    for kind, most in chosen.items():
        resource.setrlimit(kind, (most, most))
    call_prctl(_NO_NEW_PRIVS, 1)


def _start(header: JSONObject, files: list[tuple[str, bytes]], program: int) -> None:
    """Become the program, as process 1 of its namespace: with it, all that it started ends."""
    call_prctl(_PDEATHSIG, signal.SIGKILL)
    nothing = os.open("/dev/null", os.O_RDONLY)
    os.dup2(nothing, 0)
    make_root(int(header["limits"]["disk_bytes"]), list(header["shown"]))
    write_tree("/tree", files)
    set_limits(header["limits"])
    os.chdir("/tree")
    if header["is_probe"]:
        os._exit(0)
    os.execve(program, [header["program"], *header["arguments"]], dict(header["environment"]))  # noqa: S606


def _fail(error: Exception) -> None:
    os.write(2, f"{MARK}{error}\n".encode())
    os._exit(FAILED)


def main(source: BinaryIO, target: BinaryIO) -> None:
    """Read a job, isolate this process, and become its program."""
    del target  # the program inherits it
    header = json.loads(source.readline())
    files = [(str(name), source.read(size)) for name, size in header["files"]]
    try:
        program = os.open(header["path"], os.O_RDONLY | os.O_CLOEXEC) if header["path"] else 0
        enter_namespaces()
        child = os.fork()
        if child == 0:
            _start(header, files, program)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        os._exit(code if code >= 0 else 128 - code)
    except Exception as error:  # whatever it is, nothing was started
        _fail(error)
