"""Open a worked example in the playground: one of an object, of a set with a command of kubectl, or of a kOps channel.

A three-way example and a reading example open unchanged. Of a story, the last apply is the question, and the result of
the earlier writes is live, with its field owners as lines.
"""

from __future__ import annotations

from functools import lru_cache

from applyviz.engine.diff.yaml_text import render_yaml
from applyviz.engine.objects.errors import ManifestError
from applyviz.engine.objects.known_names import CLIENT_SIDE_MANAGER
from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.objects.structs import replace
from applyviz.engine.requests.options import ApplyMode
from applyviz.engine.schema.crds import CRDSource
from applyviz.guide.answers import compute_answers, read_object
from applyviz.guide.channels import list_files
from applyviz.guide.given import PlaygroundQuery, PlaygroundQueryError
from applyviz.guide.given_channels import ChannelQuery, join_files
from applyviz.guide.given_sets import SetQuery, read_command
from applyviz.guide.owned import own_fields
from applyviz.guide.pages import Block, Example, PagePart
from applyviz.guide.whole_sets import read_texts

_LINE = 72
_NAMESPACE = "shop"


def unfold(example: Example) -> Example:
    """Return an example with long lines in block YAML, so that it fits a narrow column."""
    given = [b for b in example.blocks if b.part.is_given and b.text]
    if example.is_set or all(len(line) <= _LINE for block in given for line in block.text.splitlines()):
        return example
    blocks = (
        replace(b, text=render_yaml(None, read_object(b.text, b.part))) if b in given else b for b in example.blocks
    )
    return replace(example, blocks=tuple(blocks))


def _question(steps: tuple[Block, ...]) -> int:
    return max(n for n, step in enumerate(steps) if step.part is PagePart.APPLY)


def _own_before(live: str, owners: str, definition: str) -> str:
    """Return live with managedFields: its owners name entries as the definition had them before it changed."""
    obj = read_object(live, PagePart.LIVE)
    kind = CRDSource([read_object(definition, PagePart.DEFINITION)]).find_kind(GroupVersionKind.from_object(obj))
    owned, _problems = own_fields(obj, owners, kind=kind)
    return render_yaml(None, owned)


def _open_story(example: Example) -> PlaygroundQuery:
    asked = _question(example.steps)
    step = example.steps[asked]
    rest = replace(example, blocks=tuple(b for b in example.blocks if b is not step))
    left = compute_answers(rest) if rest.steps else None
    live = render_yaml(None, left.after) if left and left.after else example.find(PagePart.LIVE) or ""
    owners = "\n".join(left.owners) if left else ""
    definitions = [b.text for b in example.blocks if b.part is PagePart.DEFINITION]
    if len(definitions) > 1:
        live, owners = _own_before(live, owners, definitions[-2]), ""
    return PlaygroundQuery(
        manifest=step.text,
        live=live,
        owners=owners,
        crds=definitions[-1] if definitions else "",
        field_manager=step.words[0],
        is_forced="force" in step.words,
        takes_client_side=False,  # a story states itself where fields move
    )


def open_example(example: Example) -> PlaygroundQuery:
    """Return an example as playground input."""
    example = unfold(example)
    if example.steps:
        return _open_story(example)
    return PlaygroundQuery(
        manifest=example.find(PagePart.MANIFEST) or "",
        live=example.find(PagePart.LIVE) or "",
        last_applied=example.find(PagePart.LAST_APPLIED) or "",
        mode=ApplyMode.CLIENT,
        field_manager=CLIENT_SIDE_MANAGER,
    )


@lru_cache(maxsize=64)
def open_set(example: Example) -> SetQuery | None:
    """Return an example of a set as playground input; None if it has no command, or shows what kubectl cannot read."""
    command = example.find(PagePart.COMMAND)
    if command is None:
        return None
    texts = example.find(PagePart.SET) or "", example.find(PagePart.CLUSTER) or ""
    try:
        given = read_command(command, *texts, namespace=_NAMESPACE)
        read_texts(given)
    except (ManifestError, PlaygroundQueryError):
        return None
    return given


@lru_cache(maxsize=64)
def open_channel(example: Example) -> ChannelQuery | None:
    """Return an example of a channel as playground input; None if it has none."""
    block = next((block for block in example.blocks if block.part is PagePart.CHANNEL), None)
    if block is None:
        return None
    manifests, cluster = join_files(list_files(example)), example.find(PagePart.CLUSTER) or ""
    return ChannelQuery(block.text, manifests, cluster, *block.words[:1])
