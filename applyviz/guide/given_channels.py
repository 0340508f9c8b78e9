"""The playground's input for a kOps channel: the channel, manifests of its addons, and what a cluster has recorded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from applyviz.engine.schema.builtin import RELEASE
from applyviz.guide.given import Query

FILE = "channel.yaml"
HEADER = "# File: "
"""The beginning of the line before each manifest of an addon: the name of its file follows."""


class ChannelQuery(Query, frozen=True):
    """One question about a channel.

    - `manifests`: files of addons, each below its header; `cluster`: the namespaces with their records, other objects,
      and the definitions of custom resources; `kubernetes`: the version of the server.
    """

    channel: str
    manifests: str = ""
    cluster: str = ""
    kubernetes: str = RELEASE

    @property
    def command(self) -> str:
        """Return the command of kOps that does the same with the channel in a file beside its manifests.

        - Rule: `channels/pkg/cmd/apply_channel.go` of kOps takes the address of a channel; since 1.25 it takes no file.
        """
        return f'channels apply channel "file://$PWD/{FILE}" --yes'


def split_files(text: str) -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each file; the name is "" for text before the first header.

    - Empty lines at the end of a file separate it from the next header, and are no part of it.
    """
    name, lines = "", list[str]()
    for line in (*text.split("\n"), HEADER):
        if not line.startswith(HEADER):
            lines.append(line)
            continue
        content = "\n".join(lines).rstrip("\n")
        if name or content.strip():
            yield name, f"{content}\n"
        name, lines = line.removeprefix(HEADER).strip(), []


def join_files(files: Iterable[tuple[str, str]]) -> str:
    """Return files as one text, each below its header."""
    return "\n".join(f"{HEADER}{name}\n{text}" for name, text in files)
