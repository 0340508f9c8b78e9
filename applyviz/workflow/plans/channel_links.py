"""Fetch the addons of a kOps channel: each manifest relative to the address of the channel, or by its own.

The rules and limits of links hold for every address. A manifest that cannot be fetched is noted beside the channel, so
that its plan says why the addon is missing; the others are fetched.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from urllib.parse import urljoin, urlsplit

from applyviz.engine.channels.model import Addon
from applyviz.engine.manifests.documents import ParsedFile
from applyviz.engine.objects.errors import SourceError
from applyviz.engine.objects.structs import replace
from applyviz.sources.bundle import BundledFile, SourceBundle
from applyviz.workflow.plans.channels import MISSING, read_channel

MOST_ADDONS = 200
Fetch = Callable[[Sequence[str]], Sequence[BundledFile | SourceError]]


def _list_missing(addons: Sequence[Addon], bundle: SourceBundle) -> list[Addon]:
    """Return the addons whose file is not there, one for each file."""
    present = {file.name for file in bundle.files}
    found = {addon.file: addon for addon in addons if addon.file not in present}
    if len(found) > MOST_ADDONS:
        raise SourceError(f"the channel names more than {MOST_ADDONS} manifests")
    return list(found.values())


def _join(address: str, manifest: str) -> str:
    try:
        return urljoin(address, manifest)
    except ValueError:
        return manifest


def fetch_addons(bundle: SourceBundle, files: Sequence[ParsedFile], fetch: Fetch) -> SourceBundle:
    """Return a source with the manifests that its channel names: relative to its address, or by addresses of their own.

    - `fetch` returns the file or the error of each address.
    """
    channel = read_channel(files, bundle)
    if channel is None:
        return bundle
    own = next(file for file in bundle.files if file.name == channel.file)
    address = own.provenance.get("final_url", "")
    reachable = [addon for addon in channel.addons if address or urlsplit(addon.manifest).scheme]
    missing = _list_missing(reachable, bundle)
    if not missing:
        return bundle
    found: list[BundledFile] = []
    notes: dict[str, str] = {}
    results = fetch([_join(address, addon.manifest) for addon in missing])
    for addon, result in zip(missing, results, strict=True):
        if isinstance(result, SourceError):
            notes[f"{MISSING}{addon.file}"] = str(result)
        else:
            found.append(replace(result, name=addon.file))
    noted = replace(own, provenance={**own.provenance, **notes})
    kept = (noted if file is own else file for file in bundle.files)
    return SourceBundle.of((*kept, *found))
