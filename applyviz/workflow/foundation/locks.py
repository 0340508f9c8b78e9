"""Rows that use cases hold until their transaction ends, and in which order: the review, the cluster, then the history.

Whoever changes a review, its approvals or its plans holds the review first; entries of the history, and the numbers
that are taken under their lock, come last. Rows are held so that others may refer to them meanwhile (PostgreSQL's `FOR
NO KEY UPDATE`): somebody who has the history and adds a row that names the review does not wait for whoever has the
review and waits for the history.
"""

from __future__ import annotations

from applyviz.records.models import Cluster, Review


def lock_review(review_id: int) -> Review:
    """A review anew, held until the surrounding transaction ends."""
    return Review.objects.select_for_update(no_key=True).get(pk=review_id)


def lock_cluster(cluster_id: int) -> Cluster:
    """A cluster anew, held until the surrounding transaction ends."""
    return Cluster.objects.select_for_update(no_key=True).get(pk=cluster_id)
