"""What no sequence of events brings the controller to order."""

from dataclasses import replace

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from kube import EPOCH_S, FakeApi, FakeCluster, Silent, by_hand, context_of, node, order, pod, refused

from gesscale.errors import ClusterError
from gesscale.kubernetes.api.errors import ApiError
from gesscale.kubernetes.controller.status_reporter import StatusReporter
from gesscale.kubernetes.controller.workflow_controller import WorkflowController
from gesscale.kubernetes.order_store import Documents, OrderWriter
from gesscale.kubernetes.placement.cluster import KubernetesCluster
from gesscale.kubernetes.placement.reservations import Reservations
from gesscale.service.metrics import ScalerMetrics

NAMES = ("a", "b", "c", "d", "e", "f")
POOL = ("a", "b", "c", "d")
LOW, HIGH = 1, 3


class Orders(RuleBasedStateMachine):
    """Pods come and go, nodes open and close, writes are refused, controllers die: orders keep to what people say."""

    @initialize(proposals=st.sets(st.sampled_from(NAMES), min_size=LOW, max_size=HIGH))
    def begin(self, proposals):
        self.api, self.now_s, self.term, self.number = FakeApi(), EPOCH_S, 1, 0
        self.world = FakeCluster(nodes=[node(each, labels={"pool": "x" if each in POOL else "y"}) for each in NAMES])
        self.world.pods = [pod("e0", "a")]
        spec = by_hand(*sorted(proposals), nodePool={"matchLabels": {"pool": "x"}})
        self.api.put(status={}, **spec)
        self.reservations, self.steering = Reservations(), None
        self.seen_orders, self.stale = [], False
        self.take_over()

    def take_over(self):
        term = self.term
        self.api.catch_up()
        documents = Documents(self.api, self.api.watched)
        now_s = lambda: self.now_s  # noqa: E731  # a clock
        self.reporter = StatusReporter(documents, Silent(), ScalerMetrics("1"), lambda: self.term, now_s)
        self.order_writer = OrderWriter(documents, lambda: self.term)
        context = context_of(self.world.snapshot, self.order_writer, reservations=self.reservations)
        status = self.api.seen["streams/op"]["status"]
        self.steering = WorkflowController(self.api.workflow(), context, term, {"op": status}, self.now_s)

    def _check(self, before, live):
        """Look at an order that is new; return whether there is one."""
        after = self.api.status().get("order")
        if after == before:
            return False
        assert not self.stale
        closed = {each.name for each in self.world.nodes if each.cordoned}
        fresh = set(after["placement"]) - live
        assert fresh <= set(POOL) - closed
        self.seen_orders.append(after)
        return True

    @rule(after_s=st.sampled_from([1.0, 60.0, 700.0]), watched=st.booleans())
    def step(self, after_s, watched):
        self.now_s += after_s
        self.world.at_s += after_s
        self.age()
        before = self.api.status().get("order")
        workflow = self.api.workflow()
        step = self.steering.step(workflow, self.now_s)
        if self._check(before, set(step.cluster.placements.get("op", ()))):
            assert step.decisions[0].plan.placement == tuple(self.api.status()["order"]["placement"])
        try:
            self.reporter.report_step_of(workflow, step, self.steering.term)
        except ApiError as error:
            self.lost = str(error)  # the next step reports what the API server refused
        if watched:
            self.api.catch_up()

    @rule(add=st.sets(st.sampled_from(NAMES), max_size=3), remove=st.sets(st.sampled_from(NAMES), max_size=3))
    def propose(self, add, remove):
        """Ask for what a policy might ask for, sensible or not."""
        before = self.api.status().get("order")
        cluster = KubernetesCluster(
            workflow=self.api.workflow(),
            snapshot=self.world.snapshot,
            order_writer=self.order_writer,
            reservations=self.reservations,
            term=self.term,
            at_s=self.now_s,
            node_backoff=self.steering._cluster.node_backoff,
        )
        live: set[str] = set()
        try:
            live = set(cluster.state().placements["op"])
            if (add - live) or (remove & live):
                cluster.apply("op", tuple(sorted((live | add) - remove)))
        except ClusterError:
            assert self.api.status().get("order") == before
        self._check(before, live)

    @rule(on=st.sampled_from(NAMES))
    def wish(self, on):
        nodes = sorted({on, *self.api.served["streams/op"]["spec"]["override"]["nodes"][: HIGH - 1]})
        self.api.put(override={"nodes": nodes, "until": "2040-01-01T00:00:00Z"})

    @rule()
    def obey(self):
        """The driver applies the order in force at once."""
        placement = self.api.status().get("order", {}).get("placement")
        if placement:
            self.number += 1
            self.world.pods = [pod(f"e{self.number}-{on}", on) for on in placement]

    @precondition(lambda self: self.world.pods)
    @rule(index=st.integers(0, 5))
    def lose(self, index):
        self.world.pods = [each for at, each in enumerate(self.world.pods) if at != index % len(self.world.pods)]

    @precondition(lambda self: self.world.pods)
    @rule(index=st.integers(0, 5), how=st.sampled_from(["ready", "terminating"]))
    def trouble(self, index, how):
        at = index % len(self.world.pods)
        changed = replace(self.world.pods[at], **{how: how == "terminating"})
        self.world.pods = [*self.world.pods[:at], changed, *self.world.pods[at + 1 :]]

    @rule(on=st.sampled_from(NAMES))
    def cordon_or_open(self, on):
        self.world.nodes = [
            replace(each, cordoned=not each.cordoned) if each.name == on else each for each in self.world.nodes
        ]

    @rule(status=st.sampled_from([403, 409, 500]))
    def refuse(self, status):
        self.api.errors = [refused(status)]

    def age(self):
        self.world.stale_since_s = {"pods": self.world.at_s - 60.0} if self.stale else {}

    @rule()
    def turn_stale_or_fresh(self):
        self.stale = not self.stale
        self.age()

    @rule()
    def die(self):
        self.term += 1
        self.take_over()

    @rule()
    def forget(self):
        self.api.write_status("op", memory=None)
        self.api.catch_up()

    @rule(on=st.sampled_from(POOL))
    def foreign_order(self, on):
        """A controller that led before was still on its way with an order."""
        self.number += 1
        self.api.write_status("op", order=order(1000 + self.number, on, term=self.term, at_s=self.now_s))

    @invariant()
    def orders_keep_to_the_limits_and_grow_in_rank(self):
        for each in getattr(self, "seen_orders", []):
            assert LOW <= len(each["placement"]) <= HIGH
        numbers = [(each["term"], int(each["id"].split("-")[1])) for each in getattr(self, "seen_orders", [])]
        assert numbers == sorted(set(numbers))


Orders.TestCase.settings = settings(
    max_examples=25, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck)
)
test_orders_keep_to_what_people_say = Orders.TestCase
