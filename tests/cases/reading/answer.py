"""Ask a real kubectl how it reads each case of this folder, and write its answers into the files.

    python tests/cases/reading/answer.py --kubectl /path/to/kubectl [--only-new]

`kubectl label --local -f FILE a=b -o json` reads a manifest with kubectl's own code and prints the object
without any server. Cases without an answer (a new `text`) get one; the others are asked again.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
LABEL = "reading/asked"


def read_stream(text: str) -> list[dict[str, Any]]:
    decoder, objects, at = json.JSONDecoder(), [], 0
    while at < len(text.rstrip()):
        obj, at = decoder.raw_decode(text, at)
        objects.append(obj)
        while at < len(text) and text[at].isspace():
            at += 1
    return objects


def ask(kubectl: str, data: bytes, suffix: str = ".yaml") -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        name = "manifest" + suffix
        Path(folder, name).write_bytes(data)
        done = subprocess.run(
            [kubectl, "label", "--local", "-f", name, f"{LABEL}=x", "-o", "json"],
            cwd=folder,
            env={"HOME": folder, "KUBECONFIG": "/dev/null", "PATH": "/usr/bin:/bin"},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    objects = read_stream(done.stdout)
    for obj in objects:
        del obj["metadata"]["labels"][LABEL]
        if not obj["metadata"]["labels"]:
            del obj["metadata"]["labels"]
    error = done.stderr.strip().removeprefix("error: ") if done.returncode else ""
    return {"objects": objects, "error": error}


def manifest_of(place: str, text: str) -> bytes:
    head = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: case\ndata:\n"
    body = f"  field: {text}\n" if place == "value" else f"  {text}: field\n"
    return (head + body).encode("utf-8", "surrogatepass")


def answer_scalar(kubectl: str, case: dict[str, Any]) -> dict[str, Any]:
    fresh = {"text": case["text"]}
    for place in ("value", "key"):
        found = ask(kubectl, manifest_of(place, case["text"]))
        if found["error"] or not found["objects"]:
            fresh[place] = {"error": found["error"] or "nothing read"}
        else:
            data = found["objects"][0].get("data")
            fresh[place] = {"data": data}
    return fresh


def answer_document(kubectl: str, case: dict[str, Any]) -> dict[str, Any]:
    data = bytes.fromhex(case["hex"]) if "hex" in case else case["text"].encode("utf-8", "surrogatepass")
    source = {key: case[key] for key in ("about", "text", "hex", "suffix") if key in case}
    return {**source, **ask(kubectl, data, case.get("suffix", ".yaml"))}


def answer_file(path: Path, kubectl: str, only_new: bool, answer: Callable[..., dict[str, Any]]) -> None:
    cases = json.loads(path.read_text())["cases"]
    with ThreadPoolExecutor(2) as pool:
        fresh = list(pool.map(lambda c: c if only_new and len(c) > 2 else answer(kubectl, c), cases))
    version = json.loads(subprocess.check_output([kubectl, "version", "--client", "-o", "json"]))
    lines = ",\n".join(json.dumps(case, sort_keys=False) for case in fresh)
    client = json.dumps(version["clientVersion"]["gitVersion"])
    path.write_text(f'{{"kubectl": {client}, "cases": [\n{lines}\n]}}\n')


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kubectl", default="kubectl")
    parser.add_argument("--only-new", action="store_true")
    options = parser.parse_args()
    answer_file(HERE / "scalars.json", options.kubectl, options.only_new, answer_scalar)
    answer_file(HERE / "documents.json", options.kubectl, options.only_new, answer_document)
    return 0


if __name__ == "__main__":
    sys.exit(main())
