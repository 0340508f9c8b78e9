"""Render a kustomization with the `kustomize` or `kubectl` of the renderer.

The tree is checked first (`kustomization`); the program sees only the tree, without network, secrets or files of the
host (`rendering`).
"""

from __future__ import annotations

from applyviz.engine.diff.given_credentials import hide_credentials, list_credentials
from applyviz.engine.objects.errors import SourceError
from applyviz.engine.objects.structs import replace
from applyviz.sources.bundle import BundledFile, SourceBundle
from applyviz.sources.kustomization import check_kustomization
from applyviz.sources.rendering.choose import Runner, run_here
from applyviz.sources.rendering.job import DEFAULT_LIMITS, KUSTOMIZE, RenderJob, RenderLimits


def render(
    bundle: SourceBundle, folder: str = "", *, run: Runner = run_here, limits: RenderLimits = DEFAULT_LIMITS
) -> BundledFile:
    """Render the kustomization in `folder` of a tree; raises `SourceError` with the reasons of a refusal.

    - `run` runs the program, isolated; by default on this machine.
    """
    check_kustomization({file.name: file.data for file in bundle.files}, folder)
    files = tuple((file.name, file.data) for file in bundle.files)
    found = run(RenderJob(KUSTOMIZE, (f"./{folder}" if folder else ".",), files), limits)
    if found.code:
        given = {one for _, data in files for one in list_credentials(data.decode("utf-8", "replace"))}
        hidden = replace(found, errors=hide_credentials(found.errors, given))
        raise SourceError(f"the kustomization cannot be rendered: {hidden.last_error}")
    name = f"{folder.strip('/') or 'kustomization'}.rendered.yaml"
    return BundledFile(name, found.output, {"from": "kustomize", "folder": folder or ".", "program": "kustomize"})
