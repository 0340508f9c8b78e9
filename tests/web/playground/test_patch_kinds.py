"""The playground compares a JSON patch with the merges that lead to the same object."""

from __future__ import annotations

from tests.web.playground.test_playground import LIVE, ask, question  # noqa: F401 - fixtures

PATCH = """\
kind: Patch
target: {apiVersion: v1, kind: ConfigMap, name: flags}
type: json
patch: [{op: add, path: /data/extra, value: <b>new</b>}]
"""


def test_json_patch_is_shown_beside_both_merges(client, ask):  # noqa: F811
    text = client.get(ask(manifest=PATCH, live=LIVE)).content.decode()

    shown = text.partition("As each type of patch")[2]
    assert shown.count("This patch gives the same result.") == 2
    assert shown.count("extra: &lt;b&gt;new&lt;/b&gt;") == 2
    assert "<b>new</b>" not in shown
