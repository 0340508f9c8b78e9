"""Row locks of use cases, in this order: the review, the cluster, then the audit trail.

A change to a review, its approvals or its plans locks the review first. Audit entries, and the numbers assigned under
their lock, come last. Locks allow references to the row (PostgreSQL's `FOR NO KEY UPDATE`): a transaction that holds
the audit trail and inserts a row that refers to the review does not wait for one that holds the review and waits for
the audit trail.
"""

from __future__ import annotations

from applyviz.records.models import Cluster, Review
from applyviz.records.written_queries import WrittenQuery

_REVIEW = WrittenQuery(lambda review: Review.objects.select_for_update(no_key=True).filter(pk=review))


def lock_review(review_id: int) -> Review:
    """Lock a review until the surrounding transaction ends; return its current row."""
    review = _REVIEW.find(review_id)
    if review is None:
        raise Review.DoesNotExist
    return review


def lock_cluster(cluster_id: int) -> Cluster:
    """Lock a cluster until the surrounding transaction ends; return its current row."""
    return Cluster.objects.select_for_update(no_key=True).get(pk=cluster_id)
