"""Unpack uploaded archives: a folder of manifests, such as that of a kOps channel, as one file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from applyviz.engine.objects.errors import SourceError
from applyviz.sources.charts.packages import is_archive_name, list_charts, list_members


def unpack(files: Iterable[tuple[str, bytes]]) -> Iterator[tuple[str, bytes]]:
    """Yield uploaded files, those of an archive below its name; raises `SourceError` for a chart and a broken archive.

    - One archive is unpacked at a time, within the limits of charts.
    """
    for name, data in files:
        if not is_archive_name(name):
            yield name, data
            continue
        members = list_members(data, name)
        if list_charts(members):
            raise SourceError(f"{name} is the archive of a Helm chart: to render it, enter its name as the chart")
        yield from ((f"{name}/{path}", content) for path, content in members.items())
