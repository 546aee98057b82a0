"""One candidate for the Lease, step by step; tests/property/test_lease.py has many candidates."""

from datetime import UTC, datetime, timedelta

import pytest
from refusals import logged_codes
from scripted_api import as_json, refusal

from gesscale.kubernetes.api.errors import ApiError, Call, error_of_response
from gesscale.kubernetes.api.lease import LEASE_NAME, ElectionTimes, Elector, LeaseLock
from gesscale.kubernetes.api.resources import LEASES

AT = datetime(2026, 11, 21, 20, 0, 0, 250_000, tzinfo=UTC)


class Store:
    """A Lease in the API server, the others of its name, and the error of the next request."""

    key, name = "gesscale/l", "l"

    def __init__(self, **spec):
        self.version = 1
        self.lease = None
        self.elsewhere = {}
        if spec:
            self.lease = {"metadata": {"name": "l", "uid": "u1", "resourceVersion": "1"}, "spec": spec}
        self.fault = None

    def _raise_fault(self):
        if self.fault is not None:
            raise self.fault

    def read(self):
        self._raise_fault()
        return self.lease

    def create(self, spec):
        self._raise_fault()
        if self.lease is not None:
            raise fault(409, "AlreadyExists")
        self.version += 1
        self.lease = {
            "metadata": {"name": "l", "uid": f"u{self.version}", "resourceVersion": str(self.version)},
            "spec": dict(spec),
        }
        return self.lease

    def others(self):
        return self.elsewhere

    def replace(self, lease):
        self._raise_fault()
        if self.lease is None:
            raise fault(404, "NotFound")
        if lease["metadata"]["resourceVersion"] != self.lease["metadata"]["resourceVersion"]:
            raise fault(409, "Conflict")
        self.version += 1
        self.lease = {
            "metadata": {**lease["metadata"], "resourceVersion": str(self.version)},
            "spec": dict(lease["spec"]),
        }
        return self.lease


def fault(status, reason="x"):
    call = Call(verb="update", resource=LEASES, name="l")
    if not status:
        return ApiError("kubernetes-timeout", call, reason=reason, cause="")
    return error_of_response(call, status, reason, "")


class Candidate(Elector):
    def __init__(self, store, name="me", **options):
        self.clock_s = 100.0
        super().__init__(store, name, now_s=lambda: self.clock_s, utc_now=lambda: AT, draw=lambda: 0.5, **options)

    def after(self, seconds):
        self.clock_s += seconds
        return self.step()


def held_by_another(**more):
    return Store(holderIdentity="other", leaseDurationSeconds=15, leaseTransitions=6, **more)


def released(**more):
    return Store(holderIdentity="", leaseDurationSeconds=1, **more)


def lease_of(version, **spec):
    return {"metadata": {"name": "l", "uid": "u", "resourceVersion": version}, "spec": spec}


def test_a_released_lease_is_acquired_at_once_with_the_next_term():
    store = released(leaseTransitions=6)
    candidate = Candidate(store)
    assert candidate.step() == 4.0  # the next renewal
    assert candidate.is_leader()
    assert candidate.term == 7
    assert store.lease["spec"] == {
        "holderIdentity": "me",
        "leaseDurationSeconds": 15,
        "acquireTime": "2026-11-21T20:00:00.250000Z",
        "renewTime": "2026-11-21T20:00:00.250000Z",
        "leaseTransitions": 7,
    }


def test_a_held_lease_is_acquired_only_after_its_duration():
    store = held_by_another(renewTime="1999-01-01T00:00:00.000000Z")  # its clock does not matter
    candidate = Candidate(store)
    assert candidate.step() == pytest.approx(2.2)  # 2 s and half of the 20 % that are drawn
    candidate.after(14.9)
    assert not candidate.is_leader()
    assert candidate._holder == "other"
    store.lease["metadata"]["resourceVersion"] = "2"  # a renewal
    candidate.after(0.2)
    candidate.after(14.9)
    assert not candidate.is_leader()
    candidate.after(0.2)
    assert candidate.is_leader()
    assert candidate.term == 7


def test_the_creator_of_a_lease_waits_for_a_former_leader():
    store, floor = Store(), [-1]
    candidate = Candidate(store, term_floor=lambda: floor[0])
    candidate.step()
    assert store.lease["spec"]["holderIdentity"] == "me"
    for _ in range(7):
        candidate.after(2.0)
    candidate.after(0.9)  # 14.9 s of 15
    assert not candidate.is_leader()
    floor[0] = 3  # the former leader of a Lease that was deleted has ordered under term 3
    candidate.after(0.2)
    assert (candidate.is_leader(), candidate.term) == (True, 4)


@pytest.mark.parametrize(("floor", "term"), [(-1, 7), (6, 7), (40, 41)])
def test_the_term_is_above_that_of_every_order(floor, term):
    candidate = Candidate(released(leaseTransitions=6), term_floor=lambda: floor)
    candidate.step()
    assert candidate.term == term


def test_leadership_ends_when_the_renewal_is_too_old():
    store = released()
    candidate = Candidate(store)
    candidate.step()
    store.fault = fault(500)
    assert candidate.after(5) == 2.0
    assert candidate.is_leader()
    candidate.clock_s = 109.9  # 10 s from the renewal that was sent at 100 s
    assert candidate.is_leader()
    candidate.clock_s = 110.0
    assert not candidate.is_leader()
    assert candidate.is_leader(109.0)


@pytest.mark.parametrize("status", [0, 401, 403, 409, 429, 500])
def test_an_error_is_reported_and_retried(status):
    store = released()
    store.fault = fault(status, "Timeout")
    candidate = Candidate(store)
    candidate.step()
    assert not candidate.is_leader()
    assert candidate.problem == store.fault.problem
    store.fault = None
    candidate.step()
    assert (candidate.is_leader(), candidate.problem) == (True, None)


def test_a_released_lease_is_free_for_others_at_once():
    store = released()
    first, second = Candidate(store, "first"), Candidate(store, "second")
    first.step()
    second.step()
    assert not second.is_leader()
    first.release()
    assert not first.is_leader()
    second.step()
    assert (second.is_leader(), second.term) == (True, 2)


def test_its_times_let_no_two_lead():
    times = ElectionTimes()
    assert times.duration_s > times.renew_deadline_s > times.renew_every_s >= times.retry_s > 0


def test_a_holder_that_was_removed_by_hand_may_still_lead():
    store = Store(holderIdentity="", leaseDurationSeconds=15, leaseTransitions=6)
    candidate = Candidate(store)
    candidate.step()
    candidate.after(14.9)
    assert not candidate.is_leader()
    candidate.after(0.2)
    assert (candidate.is_leader(), candidate.term) == (True, 7)


def test_a_candidate_that_somebody_named_as_the_holder_waits_like_others():
    store = held_by_another()
    candidate = Candidate(store)
    candidate.step()
    store.lease = lease_of("9", **{**store.lease["spec"], "holderIdentity": "me"})
    candidate.after(2)
    candidate.after(14.9)
    assert not candidate.is_leader()
    candidate.after(0.2)
    assert candidate.is_leader()


@pytest.mark.parametrize("year_s", [31_536_000, 2**31 - 1])
def test_a_stated_duration_of_a_year_is_waited_for_a_minute(year_s, caplog):
    candidate = Candidate(Store(holderIdentity="other", leaseDurationSeconds=year_s, leaseTransitions=6))
    candidate.step()
    candidate.after(59.9)
    assert not candidate.is_leader()
    candidate.after(0.2)
    assert candidate.is_leader()
    assert candidate._lock_object.lease["spec"]["leaseDurationSeconds"] == 15
    assert "lease-duration-excessive" in logged_codes(caplog.text)


@pytest.mark.parametrize("at", ["2099-01-01T00:00:00.000000Z", "1970-01-01T00:00:00.000000Z", "tomorrow", None])
def test_times_in_the_record_are_not_read(at):
    candidate = Candidate(held_by_another(renewTime=at, acquireTime=at))
    candidate.step()
    candidate.after(14.9)
    assert not candidate.is_leader()
    candidate.after(0.2)
    assert candidate.is_leader()


def test_a_wall_clock_that_steps_changes_nothing():
    store = released()
    leader, other = Candidate(store, "leader"), Candidate(store, "other")
    leader.step()
    other.step()
    for number, step in enumerate((timedelta(days=9000), timedelta(days=-9000), timedelta(0)) * 3):
        leader._utc_now = lambda step=step: AT + step
        leader.after(4)
        other.after(4)
        assert (leader.is_leader(), other.is_leader(), number) == (True, False, number)


@pytest.mark.parametrize(("transitions", "term"), [(2**31 - 1, 2**31), (-4, 1), ("many", 1)])
def test_a_count_of_terms_that_was_edited_by_hand_stops_nobody(transitions, term):
    candidate = Candidate(released(leaseTransitions=transitions))
    candidate.step()
    assert (candidate.is_leader(), candidate.term) == (True, term)
    assert candidate._lock_object.lease["spec"]["leaseTransitions"] <= 2**31 - 1  # an int32 of the API


def test_a_candidate_follows_a_live_lease_of_another_namespace(caplog):
    store = released()
    store.elsewhere = {"default/l": lease_of("1", holderIdentity="laptop", leaseDurationSeconds=15)}
    candidate = Candidate(store)
    candidate.step()
    for version in ("2", "3"):
        candidate.after(10)
        assert not candidate.is_leader()
        assert (candidate.problem.code, candidate.problem.fields["lease"]) == ("lease-held-elsewhere", "default/l")
        assert store.lease["spec"]["holderIdentity"] == ""
        assert not candidate.has_ended("default/l")
        store.elsewhere = {"default/l": lease_of(version, holderIdentity="laptop", leaseDurationSeconds=15)}
    candidate.step()
    assert logged_codes(caplog.text) == ["lease-held-elsewhere"]  # once
    candidate.after(15.1)  # the laptop is silent
    assert (candidate.is_leader(), candidate.problem) == (True, None)
    assert candidate.has_ended("default/l")
    assert not candidate.has_ended("default/another-name")


def test_a_released_lease_of_another_namespace_is_none():
    store = released()
    store.elsewhere = {"default/l": lease_of("1", holderIdentity="", leaseDurationSeconds=1)}
    candidate = Candidate(store)
    candidate.step()
    assert candidate.is_leader()


def test_a_lease_that_was_acquired_elsewhere_meanwhile_is_followed():
    store = released(leaseTransitions=3)
    looks = [{}, {"default/l": lease_of("1", holderIdentity="laptop", leaseDurationSeconds=15)}]
    store.others = lambda: looks.pop(0) if len(looks) > 1 else looks[0]
    floor = [-1]
    candidate = Candidate(store, term_floor=lambda: floor[0])
    candidate.step()
    assert not candidate.is_leader()
    assert candidate.problem.code == "lease-held-elsewhere"
    floor[0] = 8  # the other has ordered
    candidate.after(15.1)
    assert (candidate.is_leader(), candidate.term) == (True, 9)


def test_a_lease_that_was_deleted_elsewhere_may_still_have_a_leader():
    store = released()
    store.elsewhere = {"default/l": lease_of("1", holderIdentity="laptop", leaseDurationSeconds=15)}
    candidate = Candidate(store)
    candidate.step()
    store.elsewhere = {}
    candidate.after(10)
    candidate.after(14.9)
    assert not candidate.is_leader()
    candidate.after(0.2)
    assert candidate.is_leader()


def test_without_the_right_to_list_leases_it_leads_its_own():
    store = released()
    store.others = dict
    candidate = Candidate(store)
    candidate.step()
    assert candidate.is_leader()
    assert not candidate.has_ended("default/l")  # nobody knows


def test_a_creation_whose_answer_is_lost_is_on_probation_too():
    store = Store()
    create = store.create

    def unheard(spec):
        create(spec)
        raise fault(0)

    store.create = unheard
    candidate = Candidate(store)
    candidate.step()
    store.create = create
    candidate.after(5)
    assert store.lease["spec"]["holderIdentity"] == "me"
    assert not candidate.is_leader()
    candidate.after(10.1)
    assert candidate.is_leader()


def test_a_missing_namespace_is_reported(server, connection):
    missing = refusal(404, "NotFound", "nothing there")
    server.answers(missing, as_json({"metadata": {}, "items": []}), to="GET")
    server.answers(missing)
    candidate = Candidate(LeaseLock(connection, "gesscale"))
    candidate.step()
    assert (candidate.problem.code, candidate.problem.fields["namespace"]) == ("lease-namespace-missing", "gesscale")


def test_leases_of_other_namespaces_are_listed_by_name(server, connection):
    found = [{"metadata": {"name": LEASE_NAME, "namespace": each}, "spec": {}} for each in ("gesscale", "default")]
    server.answers(as_json({"metadata": {}, "items": found}))
    assert list(LeaseLock(connection, "gesscale").others()) == [f"default/{LEASE_NAME}"]
    (asked,) = server.requests
    assert asked.path == "/apis/coordination.k8s.io/v1/leases"
    server.answers(refusal(403, "Forbidden", 'User "u" cannot list resource "leases" in API group'))
    assert LeaseLock(connection, "gesscale").others() == {}


def test_a_lease_in_the_cluster_is_read_created_and_replaced_by_version(server, connection):
    lock = LeaseLock(connection, "gesscale", "gesscale-controller")
    server.answers(refusal(404, "NotFound", "no such lease"), to="GET")
    server.answers(as_json({"metadata": {"resourceVersion": "1"}}))
    assert lock.read() is None
    lock.create({"holderIdentity": "me"})
    lock.replace({"metadata": {"name": "gesscale-controller", "resourceVersion": "1"}, "spec": {}})
    at = "/apis/coordination.k8s.io/v1/namespaces/gesscale/leases"
    assert [(each.method, each.path) for each in server.requests] == [
        ("GET", f"{at}/gesscale-controller"),
        ("POST", at),
        ("PUT", f"{at}/gesscale-controller"),
    ]
    assert server.requests[2].body["metadata"]["resourceVersion"] == "1"
