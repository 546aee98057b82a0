"""Candidates for Leases of one name, on clocks that run apart, over a network that delays, loses and refuses.

People delete the Leases and edit them. Never two lead.
"""

import heapq
import random
import threading
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from itertools import count
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st
from thoroughness import examples

from gesscale.kubernetes.api.errors import ApiError, Call, error_of_response
from gesscale.kubernetes.api.lease import Elector
from gesscale.kubernetes.api.resources import LEASES

TIMEOUT_S = 3.0
FAULTS_END_S = 240.0
END_S = 360.0
CALL = Call(verb="update", resource=LEASES)


class Over(BaseException):
    """The simulation ends, for the threads in it."""


class World:
    """Threads that run one at a time, in the order of a simulated time."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.after_each: list[Callable[[], None]] = []
        self._due: list[tuple[float, int, threading.Semaphore]] = []
        self._ticket, self._over = count(), False
        self._yielded = threading.Semaphore(0)
        self._threads: list[threading.Thread] = []
        self._mine = threading.local()
        self.failures: list[BaseException] = []

    def spawn(self, work: Callable[[], None], after_s: float = 0.0) -> None:
        turn = threading.Semaphore(0)

        def run() -> None:
            self._mine.turn = turn
            turn.acquire()
            try:
                if not self._over:
                    work()
            except Over:
                pass
            except BaseException as error:  # noqa: BLE001  # reported by the thread that runs the simulation
                self.failures.append(error)
            self._yielded.release()

        thread = threading.Thread(target=run, daemon=True)
        self._threads.append(thread)
        heapq.heappush(self._due, (self.now_s + after_s, next(self._ticket), turn))
        thread.start()

    def pause(self, seconds: float) -> None:
        heapq.heappush(self._due, (self.now_s + seconds, next(self._ticket), self._mine.turn))
        self._yielded.release()
        self._mine.turn.acquire()
        if self._over:
            raise Over

    def run(self, until_s: float) -> None:
        while self._due and not self.failures:
            at_s, _, turn = heapq.heappop(self._due)
            if at_s > until_s:
                heapq.heappush(self._due, (at_s, 0, turn))
                break
            self.now_s = at_s
            turn.release()
            self._yielded.acquire()
            for check in self.after_each:
                check()

    def end(self) -> None:
        self._over = True
        while self._due:
            heapq.heappop(self._due)[2].release()
            self._yielded.acquire()
        for thread in self._threads:
            thread.join(10)


class Server:
    """The Leases by namespace, with the optimistic locking of the API server."""

    def __init__(self) -> None:
        self.leases: dict[str, dict[str, Any]] = {}
        self._version = count(1)

    def create(self, namespace: str, spec: dict[str, Any]) -> dict[str, Any]:
        if namespace in self.leases:
            raise error_of_response(CALL, 409, "AlreadyExists", "")
        version = str(next(self._version))
        metadata = {"name": "l", "namespace": namespace, "uid": version, "resourceVersion": version}
        self.leases[namespace] = {"metadata": metadata, "spec": dict(spec)}
        return self.leases[namespace]

    def replace(self, namespace: str, lease: dict[str, Any]) -> dict[str, Any]:
        if namespace not in self.leases:
            raise error_of_response(CALL, 404, "NotFound", "")
        wanted, is_now = lease["metadata"], self.leases[namespace]["metadata"]
        if (wanted["uid"], wanted["resourceVersion"]) != (is_now["uid"], is_now["resourceVersion"]):
            raise error_of_response(CALL, 409, "Conflict", "")
        metadata = {**is_now, "resourceVersion": str(next(self._version))}
        self.leases[namespace] = {"metadata": metadata, "spec": dict(lease["spec"])}
        return self.leases[namespace]

    def edit(self, namespace: str, **spec: Any) -> None:
        if lease := self.leases.get(namespace):
            self.replace(namespace, {**lease, "spec": {**lease["spec"], **spec}})


class Wire:
    """One candidate's way to the server, and the namespace of its Lease."""

    name = "l"

    def __init__(self, world: World, server: Server, chance: random.Random, faults: float, namespace: str) -> None:
        self.world, self.server, self.chance, self.faults = world, server, chance, faults
        self.namespace, self.key = namespace, f"{namespace}/l"

    def read(self) -> Any:
        return self._ask(lambda: self.server.leases.get(self.namespace))

    def others(self) -> Any:
        found = self._ask(lambda: dict(self.server.leases))
        return {f"{namespace}/l": lease for namespace, lease in found.items() if namespace != self.namespace}

    def create(self, spec: Any) -> Any:
        return self._ask(lambda: self.server.create(self.namespace, spec))

    def replace(self, lease: Any) -> Any:
        return self._ask(lambda: self.server.replace(self.namespace, lease))

    def _ask(self, work: Callable[[], Any]) -> Any:
        bad = self.world.now_s < FAULTS_END_S and self.chance.random() < self.faults
        fate = self.chance.choice(("lost", "late", "unheard", "refused", "slow")) if bad else "well"
        if fate == "late":  # it reaches the server long after we gave up

            def arrive() -> None:
                with suppress(ApiError):
                    work()

            self.world.spawn(arrive, after_s=self.chance.uniform(TIMEOUT_S, 40.0))
        if fate in {"lost", "late"}:
            self.world.pause(TIMEOUT_S)
            raise ApiError("kubernetes-timeout", CALL, reason="Timeout", cause="")
        self.world.pause(self.chance.uniform(0.0, 1.4 if fate == "slow" else 0.1))
        if fate == "refused":
            raise error_of_response(CALL, self.chance.choice((403, 409, 429, 500)), "", "")
        answer = work()
        if fate == "unheard":
            self.world.pause(TIMEOUT_S)
            raise ApiError("kubernetes-timeout", CALL, reason="Timeout", cause="")
        self.world.pause(self.chance.uniform(0.0, 1.4 if fate == "slow" else 0.1))
        return answer


class Candidates:
    """Controllers that come, lead, act, stall and go."""

    def __init__(self, seed: int, rates: list[float], faults: float, kind: type[Elector] = Elector) -> None:
        self.kind = kind
        self.chance, self.world, self.server = random.Random(seed), World(), Server()
        self.rates, self.faults = rates, faults
        self.running: list[Elector] = []
        self.acts: list[tuple[int, str]] = []
        self._names = count(1)
        self.world.after_each.append(self._at_most_one_leads)

    def start(self, rate: float, after_s: float, namespace: str = "gesscale") -> None:
        name = f"controller-{next(self._names)}"
        offset_s = self.chance.uniform(0, 1e6)
        elector = self.kind(
            Wire(self.world, self.server, self.chance, self.faults, namespace),
            name,
            term_floor=lambda: max((term for term, _ in self.acts), default=-1),
            now_s=lambda: offset_s + rate * self.world.now_s,
            utc_now=lambda: datetime(2026, 1, 1, tzinfo=UTC),
            draw=self.chance.random,
        )
        leaves_s = self.world.now_s + after_s + self.chance.uniform(30, 150)

        def live() -> None:
            self.running.append(elector)
            while True:
                wait_s = elector.step() / rate
                if self.world.now_s < FAULTS_END_S and self.chance.random() < 0.1:
                    wait_s += self.chance.uniform(0, 60)  # the machine stalls
                if self.world.now_s > leaves_s and self.chance.random() < 0.5:
                    break
                self.world.pause(wait_s)
                if elector.is_leader():
                    self.acts.append((elector.term, name))
            if self.chance.random() < 0.5:
                elector.release()  # else it dies
            self.running.remove(elector)
            self.start(rate, self.chance.uniform(0, 20), namespace)

        self.world.spawn(live, after_s)

    def delete_a_lease(self, after_s: float) -> None:
        def delete() -> None:
            for namespace in list(self.server.leases)[:1]:
                del self.server.leases[namespace]

        self.world.spawn(delete, after_s)

    def edit_the_leases(self, after_s: float, what: str) -> None:
        def edit() -> None:
            spec = {
                "holder": {"holderIdentity": self.chance.choice([*(each.identity for each in self.running), "bob"])},
                "no holder": {"holderIdentity": ""},
                "a year": {"leaseDurationSeconds": 31_536_000},
                "terms": {"leaseTransitions": 0},
                "dates": {"renewTime": "2099-01-01T00:00:00.000000Z", "acquireTime": None},
            }[what]
            for namespace in list(self.server.leases):
                self.server.edit(namespace, **spec)

        self.world.spawn(edit, after_s)

    def _at_most_one_leads(self) -> None:
        leaders = [elector.identity for elector in self.running if elector.is_leader()]
        assert len(leaders) <= 1, f"at {self.world.now_s:.2f} s lead {leaders}"


EDITS = st.tuples(st.floats(5, FAULTS_END_S), st.sampled_from(("holder", "no holder", "a year", "terms", "dates")))


# A candidate stalls after it found no Lease; another one is made, held and deleted before it looks again.
@example(seed=24, rates=[0.9375, 1.0], faults=0.0, deletions=[45.0], edits=[], apart=False)
# One that was only just made is deleted between two looks of another.
@example(seed=34, rates=[1.0, 1.0, 1.0], faults=0.0, deletions=[19.0], edits=[], apart=False)
@settings(max_examples=examples(60), deadline=None)
@given(
    seed=st.integers(0, 2**32),
    rates=st.lists(st.floats(0.87, 1.13), min_size=2, max_size=3),
    faults=st.sampled_from((0.0, 0.1, 0.3, 0.6)),
    deletions=st.lists(st.floats(10, FAULTS_END_S), max_size=2),
    edits=st.lists(EDITS, max_size=3),
    apart=st.booleans(),
)
def test_two_never_lead_at_once_and_terms_only_grow(seed, rates, faults, deletions, edits, apart):
    # clocks may run apart by duration over deadline, 15/10; the slowest and the fastest here are 1.30 apart
    every = Candidates(seed, rates, faults)
    try:
        for number, rate in enumerate(rates):
            every.start(rate, every.chance.uniform(0, 5), ("gesscale", "default")[apart and number % 2])
        # Nobody can know of a leader whose Lease was deleted before the candidate of another namespace started.
        for at_s in deletions if not apart else ():
            every.delete_a_lease(at_s)
        for at_s, what in edits:
            every.edit_the_leases(at_s, what)
        every.world.run(END_S)
        assert not every.world.failures
    finally:
        every.world.end()
    terms = [term for term, _ in every.acts]
    assert terms == sorted(terms)
    assert len(dict(every.acts)) == len(set(every.acts)), "a term that two have acted in"
    # faults end at 240 s: within 120 s somebody waited for the lease's end, won it and acted
    assert every.acts
