"""Which fields does the real server refuse to change? Asked field by field, for the table of immutable fields.

    python -m tests.controlplane.fixed_fields > tests/cases/risks/fixed-fields.json

Each object of `fixed-fields.yaml` is created in the namespace `default`, and each change is sent as a PUT that is a
dry run. What is written down: the live object, and for each change the fields that the server names in its refusal.
"""

from __future__ import annotations

import base64
import copy
import json
import ssl
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.schema.builtin import bundled
from tests.controlplane.binaries import find_binaries
from tests.controlplane.controlplane import ADMIN_TOKEN, ControlPlane
from tests.yaml_files import read_yaml

JSONObject = dict[str, Any]
NAMESPACE = "default"


class Asker:
    """Plain HTTP with the administrator's token; every answer is its status and body."""

    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane
        self._context = ssl.create_default_context(cadata=plane.authority.decode())

    def ask(self, method: str, path: str, body: Any, content_type: str = "application/json") -> tuple[int, JSONObject]:
        """Send one request."""
        headers = {"Authorization": f"Bearer {ADMIN_TOKEN}", "Content-Type": content_type}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self._plane.url + path, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=30, context=self._context) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            text = error.read()
            return error.code, json.loads(text) if text.startswith(b"{") else {
                "message": text.decode("utf-8", "replace")
            }


def put(obj: JSONObject, path: str, value: Any) -> JSONObject:
    """A copy of the object with one place changed; None takes it away."""
    changed = copy.deepcopy(obj)
    place: Any = changed
    *steps, last = (int(step) if step.isdigit() else step for step in path.split("."))
    for step in steps:
        place = place[step] if isinstance(step, int) else place.setdefault(step, {})
    if value is None:
        place.pop(last)
    else:
        place[last] = value
    return changed


def find_path(obj: JSONObject) -> str:
    """The path of the object's collection."""
    resource = bundled().find_resource(GroupVersionKind.from_object(obj))
    assert resource is not None, obj["kind"]
    return resource.path(NAMESPACE)


def make_signing_request() -> str:
    """A fresh certificate signing request, as the API wants it."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "fx")])
    request = x509.CertificateSigningRequestBuilder().subject_name(name).sign(key, hashes.SHA256())
    return base64.b64encode(request.public_bytes(serialization.Encoding.PEM)).decode()


def record(asker: Asker, entry: JSONObject) -> JSONObject:
    """The live object, and the verdict on each change to it."""
    wanted, path = entry["object"], find_path(entry["object"])
    if wanted.get("spec", {}).get("request") == "CSR":
        wanted = put(wanted, "spec.request", make_signing_request())
    status, live = asker.ask("POST", path, wanted)
    if status != 201:
        raise SystemExit(f"{wanted['kind']} {wanted['metadata']['name']}: {live.get('message')}")
    path += f"/{wanted['metadata']['name']}"
    verdicts = []
    for field, value in entry["changes"].items():
        status, answer = asker.ask("PUT", f"{path}?dryRun=All", put(asker.ask("GET", path, None)[1], field, value))
        causes = (answer.get("details") or {}).get("causes") or () if status != 200 else ()
        refused = sorted({cause.get("field", "") for cause in causes}) or ([answer["message"]] if status != 200 else [])
        verdicts.append({"field": field, "value": value, "refused": refused})
    live["metadata"].pop("managedFields", None)
    return {"live": live, "changes": verdicts}


def main() -> None:
    entries = read_yaml(Path(__file__).with_name("fixed-fields.yaml"))
    with ControlPlane(find_binaries()) as plane:
        asker = Asker(plane)
        found = [record(asker, entry) for entry in entries]
    lines = ",\n".join(json.dumps(verdict, sort_keys=True) for verdict in found)
    sys.stdout.write(f"[\n{lines}\n]\n")


if __name__ == "__main__":
    main()
