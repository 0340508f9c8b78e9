"""How fast a run applies: against `kubectl apply` over a slow line, per object, and from the click to the first write.

    .venv/bin/python -m benchmarks.applying [--objects 200] [--delay 20] [--mode client|server] [--database postgres]

A real API server is started (`tests/controlplane`), and a proxy that adds the delay to each round trip. Both sides
apply the same changed files over it, each in a namespace of its own, one after the other; what is live afterwards
must be equal. Overhead is what a run of one object at a time takes beyond the time that requests are on their way.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, Protocol

import yaml

from benchmarks.delaying import run_proxy
from benchmarks.ownership import make_deployment
from tests.controlplane.binaries import find_binaries
from tests.controlplane.controlplane import ControlPlane

RATIO_AIM, OVERHEAD_AIM, FIRST_AIM = 3.0, 15.0, 1.0
KUBECTL, PRODUCT = "by-kubectl", "by-product"


def make_set(count: int, version: str) -> dict[str, str]:
    """So many objects: a third Deployments of 110 lines, Services, ConfigMaps; every one differs between versions."""
    files = {}
    for number in range(count):
        name = f"part-{number:03d}"
        labels = {"app": name, "version": version}
        if number % 3 == 0:
            obj = make_deployment(1)
            obj["metadata"] = {"name": name, "labels": labels}
            obj["spec"]["replicas"] = 0
            obj["spec"]["selector"] = {"matchLabels": {"app": name}}
            obj["spec"]["template"]["metadata"]["labels"] = labels
            obj["spec"]["template"]["spec"]["containers"][0]["image"] = f"registry.example/{name}:{version}"
        elif number % 3 == 1:
            spec = {"selector": {"app": name, "version": version}, "ports": [{"name": "http", "port": 80}]}
            obj = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "labels": labels}, "spec": spec}
        else:
            data = {f"setting-{n}": f"{version} {n}" for n in range(10)}
            obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": labels}, "data": data}
        files[f"{name}.yaml"] = yaml.safe_dump(obj, sort_keys=False)
    return files


class HasKubeconfig(Protocol):
    """Whatever a cluster can be registered from."""

    kubeconfig: Path


class Side:
    """One way to the API server: its address as the client sees it, over the proxy or not."""

    def __init__(self, plane: ControlPlane, port: int) -> None:
        self.plane, self.port = plane, port
        config = plane.kubeconfig.read_text()
        self.kubeconfig = plane.folder / f"kubeconfig-{port}"
        self.kubeconfig.write_text(config.replace(plane.url, f"https://127.0.0.1:{port}"))
        self.kubeconfig.chmod(0o600)

    def apply_with_kubectl(self, files: dict[str, str], namespace: str, mode: str) -> float:
        """`kubectl apply -f FOLDER`; seconds."""
        flags = ["--server-side", "--force-conflicts"] if mode == "server" else []
        with tempfile.TemporaryDirectory() as folder:
            for name, text in files.items():
                Path(folder, name).write_text(text)
            command = [str(self.plane.binaries.kubectl), "apply", "-n", namespace, "--field-manager=applyviz", *flags]
            environment = {
                "PATH": os.environ["PATH"],
                "HOME": str(self.plane.folder),
                "KUBECONFIG": str(self.kubeconfig),
            }
            started = time.perf_counter()
            subprocess.run([*command, "-f", folder], env=environment, check=True, capture_output=True)
            return time.perf_counter() - started


class Product:
    """The product on a separate database: only the run is measured, after its plan was made and approved."""

    def __init__(self) -> None:
        from django.core.management import call_command
        from django.db import connection

        from applyviz.records.enums import Role
        from tests.builders import make_person

        if not connection.introspection.table_names():
            call_command("migrate", verbosity=0)
        self.alice, self.bob = make_person("alice", Role.AUTHOR), make_person("bob", Role.APPROVER)
        self.count = 0

    def add(self, side: HasKubeconfig) -> Any:
        """A cluster as this side sees it."""
        from applyviz.workflow.clusters import registration as clusters
        from applyviz.workflow.foundation.access import Person

        self.count += 1
        root, _ = Person.objects.get_or_create(username="root", is_superuser=True)
        config = side.kubeconfig.read_bytes()
        return clusters.prepare_upload(slug=f"c{self.count}", name="Real", kubeconfig=config, context="test", by=root)()

    def prepare(self, cluster: Any, files: dict[str, str], namespace: str, mode: str, **rules: Any) -> Any:
        """An approved run that no worker has picked up."""
        from applyviz.engine.requests.options import ApplyMode, ApplyOptions
        from applyviz.records.models import ApplyRun
        from applyviz.sources.bundle import BundledFile, SourceBundle
        from applyviz.workflow import runs
        from applyviz.workflow.approvals import viewed_objects as viewing
        from applyviz.workflow.plans import planner as plans
        from applyviz.workflow.plans import reviews
        from tests.builders import acknowledge_all

        bundle = SourceBundle(tuple(BundledFile(name, text.encode(), {}) for name, text in files.items()))
        review = reviews.create_review(
            by=self.alice,
            title="Measure",
            reason="",
            ticket="",
            cluster=cluster,
            options=ApplyOptions(mode=ApplyMode(mode), namespace=namespace, takes_over=mode == "server"),
            bundle=bundle,
        )
        plan = review.plans.get()
        plans.make_plan(plan.pk)
        plan.refresh_from_db()
        deadline = time.monotonic() + 30
        while plan.state == "planning" and time.monotonic() < deadline:  # the worker had taken it
            time.sleep(0.05)
            plan.refresh_from_db()
        assert plan.state == "complete", plan.error
        for row in viewing.find_unopened(plan, by=self.bob):
            viewing.record_viewed(row, plan, by=self.bob)
        acknowledge_all(plan, self.bob)
        run = runs.approve_and_run(plan, by=self.bob, digest=plan.digest)
        if rules:
            ApplyRun.objects.filter(pk=run.pk).update(rules={**run.rules, **rules})
        return run

    def run(self, run: Any) -> float:
        """Carry a run out as a worker does; seconds."""
        from applyviz.workflow import runs

        started = time.perf_counter()
        runs.execute_run(run.pk)
        took = time.perf_counter() - started
        run.refresh_from_db()
        outcomes = sorted(set(run.results.values_list("outcome", flat=True)))
        assert (run.state, outcomes) == ("applied", ["applied"]), (run.error, outcomes)
        return took


@contextmanager
def measured_requests() -> Iterator[list[tuple[float, float]]]:
    """The start and end of each request of a live transport."""
    from applyviz.clusters.live import LiveTransport

    sent: list[tuple[float, float]] = []
    original = LiveTransport.send

    def send(self: Any, request: Any) -> Any:
        started = time.perf_counter()
        try:
            return original(self, request)
        finally:
            sent.append((started, time.perf_counter()))

    LiveTransport.send = send  # type: ignore[method-assign]
    try:
        yield sent
    finally:
        LiveTransport.send = original  # type: ignore[method-assign]


def measure_ratio(product: Product, side: Side, count: int, mode: str, rounds: int) -> None:
    """Both sides over the slow line, taking turns; each round changes every object."""
    from tests.controlplane.comparison import compare, make_comparable, read_objects

    cluster = product.add(side)
    for namespace in (KUBECTL, PRODUCT):
        side.plane.kubectl("create", "namespace", namespace)
        side.plane.kubectl("config", "set-context", "--current", f"--namespace={namespace}")
    files = make_set(count, "v0")
    side.apply_with_kubectl(files, KUBECTL, mode)
    side.apply_with_kubectl(files, PRODUCT, mode)
    theirs, ours = [], []
    for number in range(1, rounds + 1):
        files = make_set(count, f"v{number}")
        run = product.prepare(cluster, files, PRODUCT, mode)
        ours.append(product.run(run))
        theirs.append(side.apply_with_kubectl(files, KUBECTL, mode))
    found = [
        make_comparable(read_objects(side.plane, files, namespace), {namespace: "shop"})
        for namespace in (PRODUCT, KUBECTL)
    ]
    different = compare(*found)
    ratio = statistics.median(theirs) / statistics.median(ours)
    print(f"{count} changed objects, {mode}: kubectl {_list(theirs)} s, applyviz {_list(ours)} s")
    print(f"ratio {ratio:.2f} (at least {RATIO_AIM:g}): {'ok' if ratio >= RATIO_AIM else 'TOO SLOW'}")
    print(f"equal result: {'yes' if not different else f'NO, {len(different)} differ: {different[:3]}'}")


def _list(values: list[float]) -> str:
    return ", ".join(f"{value:.2f}" for value in values)


def measure_overhead(product: Product, side: Side, count: int, mode: str) -> None:
    """One object at a time, no delay: what a run costs beyond the time that requests are on their way."""
    cluster = product.add(side)
    namespace = "overhead"
    side.plane.kubectl("create", "namespace", namespace)
    side.apply_with_kubectl(make_set(count, "v0"), namespace, mode)
    run = product.prepare(cluster, make_set(count, "v1"), namespace, mode, at_once=1)
    with measured_requests() as sent:
        cpu = time.process_time()
        took = product.run(run)
        cpu = time.process_time() - cpu
    overhead = (took - _sum_union(sent)) / count * 1000
    print(f"{count} objects, {mode}, one write at a time: {took:.2f} s, {len(sent)} requests", end="")
    print(f", processor {cpu / count * 1000:.1f} ms per object")
    print(f"overhead {overhead:.1f} ms per object (at most {OVERHEAD_AIM:g}): ", end="")
    print("ok" if overhead <= OVERHEAD_AIM else "TOO MUCH")


def _sum_union(spans: list[tuple[float, float]]) -> float:
    """The seconds during which at least one request was in flight."""
    total, until = 0.0, 0.0
    for start, end in sorted(spans):
        total += max(0.0, end - max(start, until))
        until = max(until, end)
    return total


def measure_first_write(product: Product, side: Side, rounds: int) -> None:
    """From the click to the first write, with the worker of the personal installation, idle."""
    from applyviz.records.models import ApplyRun, JournalEntry
    from applyviz.web.management.worker import EmbeddedWorker
    from applyviz.workflow import runs  # noqa: F401 - the tasks look them up
    from applyviz.workflow.plans import planner as plans  # noqa: F401 - the tasks look them up
    from applyviz.workflow.plans import reviews  # noqa: F401 - the tasks look them up

    cluster = product.add(side)
    side.plane.kubectl("create", "namespace", "clicks")
    worker = EmbeddedWorker()
    worker.start()
    times = []
    try:
        for number in range(rounds):
            run = product.prepare(cluster, make_set(3, f"c{number}"), "clicks", "server")
            deadline = time.monotonic() + 30
            while not ApplyRun.objects.filter(pk=run.pk).exclude(finished_at=None).exists():
                assert time.monotonic() < deadline, "the worker did not take the run"
                time.sleep(0.05)
            first = JournalEntry.objects.filter(result__run=run).order_by("sent_at").first()
            assert first is not None
            times.append((first.sent_at - run.created_at).total_seconds())
            time.sleep(0.3)
    finally:
        worker.stop()
    p95 = sorted(times)[max(0, round(0.95 * len(times)) - 1)]
    print(
        f"click to first write: median {statistics.median(times):.2f} s, p95 {p95:.2f} s (at most {FIRST_AIM:g}): ",
        end="",
    )
    print("ok" if p95 < FIRST_AIM else "TOO SLOW")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--objects", type=int, default=200)
    parser.add_argument("--delay", type=float, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--mode", choices=["client", "server"], default="client")
    parser.add_argument("--database", choices=["sqlite", "postgres"], default="sqlite")
    parser.add_argument("--only", choices=["ratio", "overhead", "click"])
    options = parser.parse_args()
    from tests.services.servers import run_postgres

    serving = run_postgres() if options.database == "postgres" else nullcontext("")
    with tempfile.TemporaryDirectory() as home, serving as url:
        os.environ.update(DJANGO_SETTINGS_MODULE="applyviz.settings", APPLYVIZ_HOME=home, APPLYVIZ_HTTPS="off")
        if url:
            key = "a-key-for-this-measurement-alone-0123456789"
            os.environ.update(DATABASE_URL=url, SECRET_KEY=key, APPLYVIZ_DIGEST_KEY=f"{key}-d")
            os.environ.update(APPLYVIZ_WEB_KEY=f"{key}-w", APPLYVIZ_APPROVAL_KEY=f"{key}-a")
            from applyviz.sealing_keys import make_opening_key

            os.environ["APPLYVIZ_OPENING_KEYS"] = make_opening_key()
        import django

        django.setup()
        with ControlPlane(find_binaries()) as plane:
            _measure(plane, options)


def _measure(plane: ControlPlane, options: argparse.Namespace) -> None:
    product = Product()
    near = int(plane.url.rpartition(":")[2])
    if options.only in (None, "overhead"):
        measure_overhead(product, Side(plane, near), options.objects, options.mode)
    if options.only in (None, "click"):
        measure_first_write(product, Side(plane, near), 20)
    if options.only in (None, "ratio"):
        with run_proxy(near, options.delay) as port:
            measure_ratio(product, Side(plane, port), options.objects, options.mode, options.rounds)


if __name__ == "__main__":
    main()
