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


class TestLeases:
    """A resource has one controller: the one whose Lease the status names."""

    @pytest.fixture(autouse=True)
    def _two(self, api):
        self.api, self.now_s, self.ended = api, 0.0, set()
        self.mine, self.other = (
            Documents(
                api, api.watched, lease=lease, has_ended=lambda lease: lease in self.ended, steady_s=lambda: self.now_s
            )
            for lease in ("gesscale/A", "default/B")
        )

    def write(self, documents, at_s, replicas=2):
        self.now_s = at_s
        self.api.catch_up()
        documents.change_status(OP, lambda _: {"replicas": replicas})

    def test_the_first_writer_keeps_it_while_it_writes(self):
        self.write(self.mine, 0)
        assert self.api.status() == {"replicas": 2, "lease": "gesscale/A"}
        for at_s in (1, 100, 200):
            with refused_with("resource-led-elsewhere", ClusterError, lease="gesscale/A", own="default/B"):
                self.write(self.other, at_s)
            self.write(self.mine, at_s + 0.5, at_s)
        with refused_with("resource-led-elsewhere", ClusterError):
            self.write(self.other, 319)  # the last write was seen at 200 s, that of 200.5 s now
        with refused_with("resource-led-elsewhere", ClusterError):
            self.write(self.other, 438)
        self.write(self.other, 439)
        assert self.api.status()["lease"] == "default/B"
        with refused_with("resource-led-elsewhere", ClusterError, lease="default/B"):
            self.write(self.mine, 440)

    def test_of_two_that_write_first_one_wins(self):
        self.api.meanwhile = lambda: self.write(self.mine, 0)
        with refused_with("resource-led-elsewhere", ClusterError, lease="gesscale/A"):
            self.write(self.other, 0)
        assert self.api.status()["lease"] == "gesscale/A"

    def test_it_is_taken_at_once_from_a_lease_that_has_ended(self):
        self.write(self.mine, 0)
        self.ended.add("gesscale/A")
        self.write(self.other, 1)
        assert self.api.status()["lease"] == "default/B"
