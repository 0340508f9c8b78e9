"""Render a kustomization with the machine's `kustomize` or `kubectl`, in a temporary copy of the tree.

The tree is checked first (`kustomization`), then written to a private folder; the program gets an empty environment, no
kubeconfig, no network where the system supports that, and limits on time and output.
"""

from __future__ import annotations

import functools
import os
import selectors
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from applyviz.engine.objects.errors import SourceError
from applyviz.sources.bundle import BundledFile, SourceBundle
from applyviz.sources.kustomization import check_kustomization

_READ_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class RenderLimits:
    """The limits on time and output of one rendering."""

    seconds: float = 30.0
    output_bytes: int = 10 * 1024 * 1024


DEFAULT_LIMITS = RenderLimits()


def find_program(search: str | None = None) -> tuple[str, ...]:
    """Return the command that renders: `kustomize build` or `kubectl kustomize`, () if neither is installed."""
    kustomize = shutil.which("kustomize", path=search)
    if kustomize:
        return kustomize, "build"
    kubectl = shutil.which("kubectl", path=search)
    return (kubectl, "kustomize") if kubectl else ()


@functools.cache
def _without_network() -> tuple[str, ...]:
    unshare = shutil.which("unshare")
    if unshare is None:
        return ()
    wrapper = (unshare, "--map-root-user", "--net", "--")
    done = subprocess.run([*wrapper, "/bin/true"], capture_output=True, timeout=10, check=False)  # noqa: S603 - fixed
    return wrapper if done.returncode == 0 else ()


def _write_tree(bundle: SourceBundle, root: Path) -> None:
    for file in bundle.files:
        target = root / file.name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(file.data)


def _environment(root: Path) -> dict[str, str]:
    home = str(root.parent)
    return {"HOME": home, "XDG_CONFIG_HOME": home, "KUBECONFIG": os.devnull, "PATH": "/nonexistent", "LANG": "C"}


def _read_output(process: subprocess.Popen[bytes], limits: RenderLimits) -> tuple[bytes, bytes]:
    """Return both outputs of the program; raises `SourceError` at a limit."""
    ends = time.monotonic() + limits.seconds
    found = {"out": bytearray(), "err": bytearray()}
    with selectors.DefaultSelector() as waiting:
        for stream, name in ((process.stdout, "out"), (process.stderr, "err")):
            if stream is not None:
                waiting.register(stream, selectors.EVENT_READ, name)
        while waiting.get_map():
            left = ends - time.monotonic()
            if left <= 0:
                raise SourceError(f"rendering took longer than {limits.seconds:g} seconds")
            for key, _ in waiting.select(left):
                chunk = os.read(key.fd, _READ_BYTES)
                if not chunk:
                    waiting.unregister(key.fileobj)
                found[key.data] += chunk
                if len(found[key.data]) > limits.output_bytes:
                    raise SourceError(f"rendering gives more than {limits.output_bytes:,} bytes")
    return bytes(found["out"]), bytes(found["err"])


def _run(command: Sequence[str], root: Path, limits: RenderLimits) -> bytes:
    process = subprocess.Popen(  # noqa: S603 - a fixed program; the folder is one we made
        [*_without_network(), *command],
        cwd=root,
        env=_environment(root),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        output, errors = _read_output(process, limits)
        code = process.wait(limits.seconds)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()
    if code:
        lines = errors.decode("utf-8", "replace").replace(str(root), ".").strip().splitlines()
        raise SourceError(f"the kustomization cannot be rendered: {(lines or ['no reason given'])[-1][:400]}")
    return output


def render(
    bundle: SourceBundle,
    folder: str = "",
    *,
    program: Sequence[str] | None = None,
    limits: RenderLimits = DEFAULT_LIMITS,
) -> BundledFile:
    """Render the kustomization in `folder` of a tree; raises `SourceError` with the reasons of a refusal.

    - `program` is the command to use; by default the machine's own.
    """
    check_kustomization({file.name: file.data for file in bundle.files}, folder)
    command = find_program() if program is None else tuple(program)
    if not command:
        raise SourceError(
            "kustomizations need the program kustomize or kubectl on the server, and neither is installed;"
            " bring the rendered manifests instead"
        )
    with tempfile.TemporaryDirectory(prefix="applyviz-kustomize-") as private:
        root = Path(private, "tree")
        root.mkdir()
        _write_tree(bundle, root)
        data = _run([*command, f"./{folder}" if folder else "."], root, limits)
    name = f"{folder.strip('/') or 'kustomization'}.rendered.yaml"
    provenance = {"from": "kustomize", "folder": folder or ".", "program": command[0]}
    return BundledFile(name, data, provenance)
