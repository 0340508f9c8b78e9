"""Stories nobody planned: random objects, commands and writers, told by the real kubectl and judged at once.

    python -m tests.controlplane.random_stories OUT --stories 100 --seed 7

Each story is recorded as `record.py` records scenarios, and every `kubectl apply` and every write of it is held to the
engine and to the sandbox. A story with a disagreement stays in OUT. What the objects are is data: `wandering.yaml`.
"""

from __future__ import annotations

import argparse
import copy
import json
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import yaml

from applyviz.conformance import replay, requests
from applyviz.conformance.cases import CaseResult
from tests.controlplane.binaries import find_binaries
from tests.controlplane.controlplane import ControlPlane
from tests.controlplane.proxying import Recorder
from tests.controlplane.record import tell, write_story
from tests.yaml_files import read_yaml

HERE = Path(__file__).parent
MODELS: list[dict[str, Any]] = read_yaml(HERE / "wandering.yaml")
DEFINITION = (HERE / "wandering-definition.yaml").read_text(encoding="utf-8")
ABSENT = "ABSENT"
_GROUP = "wander.example.com"
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_ODD_ANNOTATIONS = (
    "",
    "{}",
    "null",
    "broken",
    "[1]",
    '{"metadata":{"labels":{"gone":"1"}}}',
    '{"data":{"a":"1","old":"2"}}',
)
_MANAGERS = ("alice", "hpa", "kubectl", "helm", "before-first-apply", "kubectl-client-side-apply")
_NAMESPACED = (
    "core/v1/ConfigMap",
    "core/v1/Secret",
    "apps/v1/Deployment",
    "core/v1/Service",
    "policy/v1/PodDisruptionBudget",
)
Obj = dict[str, Any]
Step = dict[str, Any]


class Wanderer:
    """Invents one story; the same seed invents the same one."""

    def __init__(self, rng: random.Random, name: str) -> None:
        self.rng = rng
        self.name = name
        self.models = rng.sample(MODELS, rng.randint(1, 4))
        self.versions = {m["resource"]: self.change(m, m["object"], len(m["places"])) for m in self.models}
        self.changed: set[str] = set(self.versions)
        self.is_one_file = rng.random() < 0.25

    def change(self, model: Obj, obj: Obj, count: int) -> Obj:
        """The object with some of its places chosen anew."""
        made = copy.deepcopy(obj)
        for place in self.rng.sample(model["places"], min(count, len(model["places"]))):
            *above, last = place["at"]
            holder = made
            for step in above:
                if not isinstance(holder.get(step), dict):
                    holder[step] = {}
                holder = holder[step]
            value = self._choose(place)
            holder.pop(last, None)
            if value != ABSENT:
                holder[last] = value
        return made

    def _choose(self, place: Obj) -> Any:
        if "one" in place:
            return copy.deepcopy(self.rng.choice(place["one"]))
        pool = place["some"]
        chosen = self.rng.sample(pool, self.rng.randint(place.get("least", 0), len(pool)))
        by_key = {json.dumps(e[place["key"]]) if "key" in place else json.dumps(e): e for e in chosen}
        if self.rng.random() < 0.95:
            chosen = list(by_key.values())
        return copy.deepcopy(chosen) or ABSENT

    def tell(self) -> Obj:
        """The scenario, as `record.py` takes it."""
        steps: list[Step] = []
        if "widgets" in self.versions:
            ready = "until kubectl get widgets >/dev/null 2>&1; do sleep 0.3; done"
            wait = "kubectl wait --for=condition=Established crd --all >/dev/null"
            steps.append({"run": f"kubectl create -f definition/crd.yaml && {wait} && {ready}"})
        steps += [self.take_step() for _ in range(self.rng.randint(5, 14))]
        scenario: Obj = {"name": self.name, "files": {"definition/crd.yaml": DEFINITION}, "steps": steps}
        scenario["env"] = {"KUBECTL_APPLYSET": "true"}
        text = json.dumps(scenario).replace(_GROUP, f"{self.name}.example.com")
        renamed: Obj = json.loads(text)
        return renamed

    def take_step(self) -> Step:
        """One command, and what is written before it."""
        if self.rng.random() < 0.6:
            return self.apply()
        others: tuple[Callable[[Obj, Obj], str], ...] = (
            *(self._label, self._annotate, self._scale, self._set, self._patch, self._patch, self._edit),
            *(self._replace, self._create, self._delete, self._set_last_applied),
        )
        model = self.rng.choice(self.models)
        return {"run": self.rng.choice(others)(model, self.versions[model["resource"]]), "write": self._write()}

    def apply(self) -> Step:
        """A `kubectl apply` of some flags, mostly of something that changed."""
        rng = self.rng
        for model in self.models:
            if rng.random() < 0.5:
                name = model["resource"]
                self.versions[name] = self.change(model, self.versions[name], rng.choice((0, 1, 1, 2)))
                self.changed.add(name)
        flags = [*self._choose_files(), *(self._serverside() if rng.random() < 0.45 else self._clientside())]
        flags += self._choose_output()
        return {"run": " ".join(["kubectl apply", *flags]), "write": self._write()}

    def _write(self) -> dict[str, str]:
        texts = {name: yaml.safe_dump(self.versions[name], sort_keys=False) for name in sorted(self.changed)}
        self.changed.clear()
        if self.is_one_file:
            return {"set/all.yaml": "---\n".join(yaml.safe_dump(o, sort_keys=False) for o in self.versions.values())}
        files = {f"set/{name}.yaml": text for name, text in texts.items()}
        listed = {"resources": [f"{name}.yaml" for name in sorted(self.versions)]}
        return {**files, "set/kustomization.yml": yaml.safe_dump(listed)}

    def _choose_files(self) -> list[str]:
        rng, turn = self.rng, self.rng.random()
        if self.is_one_file:
            return ["-f set/all.yaml"]
        names = list(self.versions)
        if turn < 0.12:
            return ["-k set"]
        return [
            f"-f set/{name}.yaml" for name in (names if turn < 0.6 else rng.sample(names, rng.randint(1, len(names))))
        ]

    def _choose_output(self) -> list[str]:
        rng = self.rng
        chosen = [
            flag for flag, chance in (("-l set=x", 0.06), ("-o name", 0.04), ("-o json", 0.02)) if rng.random() < chance
        ]
        if rng.random() < 0.06:
            chosen.append(f"--validate={rng.choice(('ignore', 'warn', 'strict', 'false'))}")
        return chosen

    def _prune(self) -> list[str]:
        rng = self.rng
        if rng.random() < 0.35:
            return ["--prune", f"--applyset={rng.choice(('set', 'configmaps/parent', 'secrets/parent'))}"]
        some = [f"--prune-allowlist={each}" for each in rng.sample(_NAMESPACED, rng.choice((1, 1, 2)))]
        return ["--prune", rng.choice(("-l set=x", "--all")), *some]

    def _clientside(self) -> list[str]:
        rng = self.rng
        choices = (
            (0.1, lambda: ["--overwrite=false"]),
            (0.08, lambda: ["--force"]),
            (0.1, lambda: [f"--dry-run={rng.choice(('server', 'client'))}"]),
            (0.1, lambda: [f"--field-manager={rng.choice(_MANAGERS)}"]),
            (0.08, self._prune),
        )
        return [flag for chance, make in choices if rng.random() < chance for flag in make()]

    def _serverside(self) -> list[str]:
        rng = self.rng
        choices = (
            (0.4, lambda: ["--force-conflicts"]),
            (0.5, lambda: [f"--field-manager={rng.choice(_MANAGERS)}"]),
            (0.1, lambda: ["--dry-run=server"]),
            (0.06, self._prune),
        )
        return ["--server-side", *(flag for chance, make in choices if rng.random() < chance for flag in make())]

    def _label(self, model: Obj, obj: Obj) -> str:
        given = self.rng.choice(("tier=db --overwrite", "tier-", "set=z --overwrite", "extra=1 --overwrite"))
        return f"kubectl label {model['resource']} {obj['metadata']['name']} {given}"

    def _annotate(self, model: Obj, obj: Obj) -> str:
        odd = f"{_LAST_APPLIED}='{self.rng.choice(_ODD_ANNOTATIONS)}'"
        given = self.rng.choice(("note=other", "note-", f"{_LAST_APPLIED}-", odd, odd))
        return f"kubectl annotate {model['resource']} {obj['metadata']['name']} --overwrite {given}"

    def _scale(self, model: Obj, obj: Obj) -> str:
        return f"kubectl scale {model['resource']} {obj['metadata']['name']} --replicas={self.rng.randint(0, 4)}"

    def _set(self, model: Obj, obj: Obj) -> str:
        what = self.rng.choice(("image", "env"))
        given = "web=nginx:9" if what == "image" else self.rng.choice(("A=9", "Z=1", "B-"))
        manager = self.rng.choice(("", " --field-manager=alice"))
        return f"kubectl set {what} {model['resource']}/{obj['metadata']['name']} {given}{manager}"

    def _patch(self, model: Obj, obj: Obj) -> str:
        place = self.rng.choice(model["places"])
        value = self._choose(place)
        form = self.rng.choice(("merge", "merge", "json", "strategic"))
        if form == "json":
            operation = (
                {"op": "remove"} if value == ABSENT else {"op": self.rng.choice(("add", "replace")), "value": value}
            )
            body: Any = [{**operation, "path": "/" + "/".join(place["at"])}]
        else:
            body = None if value == ABSENT else value
            for step in reversed(place["at"]):
                body = {step: body}
        below = " --subresource=status" if self.rng.random() < 0.1 else ""
        named = f"{model['resource']} {obj['metadata']['name']}"
        return f"kubectl patch {named} --type={form}{below} -p '{json.dumps(body)}'"

    def _edit(self, model: Obj, obj: Obj) -> str:
        script = self.rng.choice(("s/nginx:./nginx:7/", "s/tier: web/tier: edited/", "s/: x$/: e/", "/note:/d"))
        saved = self.rng.choice(("", " --save-config"))
        return f"KUBE_EDITOR='sed -i \"{script}\"' kubectl edit {model['resource']} {obj['metadata']['name']}{saved}"

    def _name_file(self, model: Obj) -> str:
        return "set/all.yaml" if self.is_one_file else f"set/{model['resource']}.yaml"

    def _replace(self, model: Obj, obj: Obj) -> str:
        return f"kubectl replace -f {self._name_file(model)}{self.rng.choice(('', ' --save-config'))}"

    def _create(self, model: Obj, obj: Obj) -> str:
        return f"kubectl create -f {self._name_file(model)}{self.rng.choice(('', ' --save-config'))}"

    def _delete(self, model: Obj, obj: Obj) -> str:
        named = f"{model['resource']} {obj['metadata']['name']}"
        unset = f"kubectl patch {named} --type=merge -p '{json.dumps({'metadata': {'finalizers': None}})}'"
        return f"{unset}; kubectl delete {named} --wait=false"

    def _set_last_applied(self, model: Obj, obj: Obj) -> str:
        created = self.rng.choice(("", " --create-annotation"))
        return f"kubectl apply set-last-applied -f {self._name_file(model)}{created}"


def judge_story(path: Path) -> Iterator[CaseResult]:
    """Every apply and every write of a recorded story."""
    yield from requests.run_story(path)
    yield from replay.run_story(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, help="folder for stories with a disagreement")
    parser.add_argument("--stories", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    binaries, count = find_binaries(), Counter[str]()
    with ControlPlane(binaries) as plane, Recorder(plane) as recorder:
        for number in range(options.stories):
            name = f"wander-{options.seed}-{number}"
            story = tell(Wanderer(random.Random(name), name).tell(), recorder, binaries.kubectl)
            write_story(story, options.out)
            path = options.out / f"{name}.json.gz"
            results = list(judge_story(path))
            count.update(f"{r.family} {'agree' if r.agrees else 'disagree'}" for r in results)
            bad = [r for r in results if not r.agrees]
            for result in bad:
                sys.stdout.write(f"{result.name}: {result.family}: {result.reason[:600]}\n")
            sys.stdout.flush()
            if not bad:
                path.unlink()
            plane.kubectl("delete", "namespace", name, "--wait=false", check=False)
            plane.kubectl(
                "delete", "crd", f"widgets.{name}.example.com", "--ignore-not-found", "--wait=false", check=False
            )
    sys.stdout.write(f"{dict(sorted(count.items()))}\n")


if __name__ == "__main__":
    main()
