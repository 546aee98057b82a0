"""Statuses are read and written with optimistic locking."""

import pytest
from kube import SPACE, FakeApi, refused
from refusals import refused as refused_with

from gesscale.errors import ClusterError
from gesscale.kubernetes.order_store import Documents

OP = (SPACE, "op")


@pytest.fixture
def api():
    api = FakeApi()
    api.put(status={"replicas": 1})
    return api


@pytest.fixture
def documents(api):
    return Documents(api, api.watched)


def test_an_own_write_is_known_before_the_watch_brings_it(api, documents):
    documents.change_status(OP, lambda _: {"replicas": 2})
    assert api.watched()["streams/op"]["status"] == {"replicas": 1}
    assert documents.newest(OP)["status"] == {"replicas": 2}
    # The next change starts from the last one, without a conflict.
    documents.change_status(OP, lambda it: {"desired": it["status"]["replicas"] + 1})
    assert api.status() == {"replicas": 2, "desired": 3}
    assert len(api.patches) == 2


def test_the_watch_counts_again_when_it_has_caught_up(api, documents):
    documents.change_status(OP, lambda _: {"replicas": 2})
    api.write_status("op", replicas=9)
    api.catch_up()
    assert documents.newest(OP)["status"] == {"replicas": 9}


def test_after_a_conflict_the_change_is_made_on_the_newest_version(api, documents):
    api.meanwhile = lambda: api.write_status("op", replicas=5)
    documents.change_status(OP, lambda it: {"desired": it["status"]["replicas"] + 1})
    assert api.status() == {"replicas": 5, "desired": 6}


def test_it_is_tried_three_times(api, documents):
    api.errors = [refused(409)] * 3
    with refused_with("kubernetes-conflict", ClusterError):
        documents.change_status(OP, lambda _: {"replicas": 2})
    assert api.errors == []
    assert api.patches == []


def test_a_resource_that_was_deleted_cannot_be_written(api, documents):
    api.delete("op")
    with refused_with("kubernetes-not-found", ClusterError):
        documents.change_status(OP, lambda _: {"replicas": 2})
    api.catch_up()
    with refused_with("resource-deleted", ClusterError, source="streamautoscaler streams/op"):
        documents.change_status(OP, lambda _: {"replicas": 2})


def test_a_recreated_resource_has_a_new_status(api, documents):
    documents.change_status(OP, lambda _: {"replicas": 2})
    api.delete("op")
    api.put(status={})
    assert documents.newest(OP)["status"] == {}
