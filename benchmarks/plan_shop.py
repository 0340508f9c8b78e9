"""How long a reviewer waits for the plan of the demo's upgrade on the sandbox: for the first object, and for all.

Planning runs in a thread, as the worker of `scripts/run` does, while this one looks into the database as a page
does. Aim: the first object within 1 second, all of them within 3.
"""

from __future__ import annotations

import os
import shutil
import statistics
import tempfile
import threading
import time

ROUNDS = 5
FIRST_AIM, ALL_AIM = 1.0, 3.0


def prepare() -> None:
    """Make a separate installation with the demo data."""
    from django.core.management import call_command

    from applyviz.demo import load_demo
    from applyviz.workflow.ops import demo

    call_command("migrate", verbosity=0, interactive=False)
    demo.seed_demo(load_demo())


def measure() -> tuple[float, float, int]:
    """Seconds to the first object and to the complete plan, and how many objects it has."""
    from django.db import connection

    from applyviz.records.models import Plan, Review
    from applyviz.workflow.ops import demo
    from applyviz.workflow.plans import planner as plans
    from applyviz.workflow.plans import reviews

    review = Review.objects.get(title=demo.SECOND)
    started = time.perf_counter()
    plan = reviews.replan_review(review, by=review.author)

    def work() -> None:
        plans.make_plan(plan.pk)
        connection.close()

    worker = threading.Thread(target=work)
    worker.start()
    first = 0.0
    while worker.is_alive():
        if not first and plan.changes.exists():
            first = time.perf_counter() - started
        time.sleep(0.005)
    done = time.perf_counter() - started
    assert Plan.objects.get(pk=plan.pk).state == "complete"
    return first or done, done, plan.changes.count()


def main() -> None:
    home = tempfile.mkdtemp(prefix="applyviz-benchmark-")
    os.environ.update(APPLYVIZ_HOME=home, DJANGO_SETTINGS_MODULE="applyviz.settings")
    import django

    django.setup()
    try:
        prepare()
        measure()  # the first plan of a process also loads the schemas
        rounds = [measure() for _ in range(ROUNDS)]
    finally:
        shutil.rmtree(home, ignore_errors=True)
    first, every = (statistics.median(each[part] for each in rounds) for part in (0, 1))
    print(f"{rounds[0][2]} objects, {ROUNDS} rounds, medians")
    print(f"first object  {first:6.2f} s   (aim {FIRST_AIM:.0f} s)")
    print(f"all objects   {every:6.2f} s   (aim {ALL_AIM:.0f} s)")


if __name__ == "__main__":
    main()
