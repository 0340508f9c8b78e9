"""What a server complains of leads to the line of the manifest, however it names the field."""

import pytest

from applyviz.engine.manifests.parse import parse_manifests
from applyviz.engine.objects.exchange import Answer
from applyviz.engine.planning.conflicts.server_errors import ServerError, locate, read_server_errors
from applyviz.engine.planning.model.plan import Operation
from applyviz.engine.requests.options import ApplyMode, ApplyOptions
from tests.engine.planning.cluster import Box

MANIFEST = b"""apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  annotations:
    example.com/note: x
spec:
  replicas: 2
  template:
    spec:
      nmae: x
      finalizers: [a, b]
      containers:
      - name: app
        image: 5
        env:
        - {name: A, value: b}
        - {name: A, value: true}
      - name: side
        args: [a, 1]
        livenessProbe:
          httpGet:
            port: []
"""

UNREADABLE = "json: cannot unmarshal {} into Go struct field {} of type string"


def find_lines(message: str, causes: list[dict[str, str]] | None = None) -> list[tuple[str, int]]:
    (document,) = parse_manifests(MANIFEST, "web.yaml").documents
    answer = Answer(422, {"message": message, "details": {"causes": causes}}) if causes is not None else None
    return [(c.field, c.position.line) for c in locate(read_server_errors(message, answer), document)]


@pytest.mark.parametrize(
    ("field", "line"),
    [
        ("spec.replicas", 8),
        ("spec.template.spec.containers[0].image", 15),
        ("spec.template.spec.containers[1].image", 19),
        ("spec.template.spec.containers[7].image", 13),
        ("metadata.annotations[example.com/note]", 6),
        ("metadata.annotations.example.com/note", 6),
        ("spec.selector", 7),
        ("spec.replicas.x", 8),
        ("spec.]", 7),
        ("spec.[", 7),
    ],
)
def test_causes_lead_to_their_lines(field, line):
    assert find_lines("", [{"field": field, "message": "Required value"}]) == [(field, line)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('strict decoding error: unknown field "spec.template.spec.nmae"', [("spec.template.spec.nmae", 11)]),
        ('duplicate field "spec.replicas", unknown field "x"', [("spec.replicas", 8), ("x", 1)]),
        (
            UNREADABLE.format("number", "Container.spec.template.spec.containers.image"),
            [("spec.template.spec.containers.image", 15)],
        ),
        (
            UNREADABLE.format("bool", "EnvVar.spec.template.spec.containers.env.value"),
            [("spec.template.spec.containers.env.value", 18)],
        ),
        (
            UNREADABLE.format("number", "Container.spec.template.spec.containers.args"),
            [("spec.template.spec.containers.args", 20)],
        ),
        (
            "json: cannot unmarshal array into Go struct field "
            "HTTPGetAction.spec.template.spec.containers.livenessProbe.ProbeHandler.httpGet.port of type int32",
            [("spec.template.spec.containers.livenessProbe.ProbeHandler.httpGet.port", 23)],
        ),
        (
            "json: cannot unmarshal string into Go struct field X.metadata.annotations of type v1.Y",
            [("metadata.annotations", 6)],
        ),
        (
            "json: cannot unmarshal object into Go struct field X.spec.replicas of type int32",
            [("spec.replicas", 8)],
        ),
        ("json: cannot unmarshal object into Go struct field X.spec.nothing of type int32", [("spec.nothing", 1)]),
        (
            "failed to create typed patch object (default/web; apps/v1, Kind=Deployment): "
            '.spec.template.spec.containers[name="side"].image: expected string, got 5',
            [('.spec.template.spec.containers[name="side"].image', 19)],
        ),
        (
            "failed to create typed patch object (default/web; apps/v1, Kind=Deployment): errors:\n"
            '  .spec.template.spec.containers[name="gone"].image: expected string, got 5\n'
            '  .spec.template.spec.finalizers[="b"]: field not declared in schema\n'
            '  .spec.template.spec.containers[name="app"].env: duplicate entries for key [name="A"]',
            [
                ('.spec.template.spec.containers[name="gone"].image', 13),
                ('.spec.template.spec.finalizers[="b"]', 12),
                ('.spec.template.spec.containers[name="app"].env', 16),
            ],
        ),
        ("the server could not find the requested resource", []),
    ],
)
def test_texts_lead_to_their_lines(text, expected):
    assert find_lines(text) == expected


def test_causes_without_a_field_leave_the_text():
    causes = [{"message": "x"}, {"field": "patch", "message": 'unknown field "x"'}]

    assert find_lines('Invalid value: "{}": unknown field "spec.template.spec.nmae"', causes) == [
        ("spec.template.spec.nmae", 11)
    ]


def test_one_problem_is_told_once():
    twice = [{"field": "spec.replicas", "message": "must be positive"}] * 2

    assert read_server_errors("", Answer(422, {"details": {"causes": twice}})) == (
        ServerError("spec.replicas", "must be positive"),
    )


@pytest.mark.parametrize(
    ("mode", "field"),
    [(ApplyMode.CLIENT, "data"), (ApplyMode.SERVER, ".data.b")],
)
def test_plan_of_a_refused_object_names_the_line(mode, field):
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  a: x\n  b: [1]\n"

    change = Box().plan_one(text, ApplyOptions(mode=mode))

    assert change.operation is Operation.ERROR
    assert [(c.field, str(c.position)) for c in change.server_errors] == [(field, "app.yaml:7:3")]
