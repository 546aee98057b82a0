import threading

from latency_map import LatencyMapError
from latency_map.measure.agent import Rounds
from latency_map.measure.options import read_options
from latency_map.measure.probes import Reply, Timeout

FAST = ["--node", "me", "--peers", "x=127.0.0.1", "--rate", "50", "--count", "2", "--timeout", "0.5"]
ADDRESS = {f"edge{number}": f"127.0.0.{number}" for number in range(1, 10)}


class Stop(threading.Event):
    """Waiting for it only moves the clock."""

    def __init__(self, pass_time):
        super().__init__()
        self.pass_time = pass_time

    def wait(self, timeout=None):
        self.pass_time(timeout)
        return self.is_set()


class Edge:
    """A network whose nodes reply after as many ms as their last number, unless they are dead."""

    def __init__(self, *options, peers=("edge1", "edge2")):
        self.now_s = 1000.0
        self.wall_s = 5_000_000.0
        self.peers = {name: ADDRESS[name] for name in peers}
        self.dead = set()
        self.reported = []
        self.stop = Stop(self.pass_time)
        self.options = read_options([*FAST, *options], {})
        self.rounds = self.start()

    def start(self):
        return Rounds(
            self.options,
            find_peers=self.find,
            probe=self.probe,
            stop=self.stop,
            report=self.reported.append,
            clock=lambda: self.now_s,
            wall_clock=lambda: self.wall_s,
        )

    def find(self):
        if isinstance(self.peers, LatencyMapError):
            raise self.peers
        return self.peers

    def probe(self, address, _sequence):
        number = int(address.rsplit(".", 1)[1])
        return Timeout(timeout_s=0.5) if f"edge{number}" in self.dead else Reply(rtt_ms=float(number))

    def pass_time(self, seconds):
        self.now_s += seconds
        self.wall_s += seconds

    def medians_ms(self):
        measured = self.rounds.measurements.measured(self.now_s)
        return {peer: pair.summary.median_ms for peer, pair in measured.items()}


def test_a_round_measures_every_peer():
    edge = Edge()
    edge.rounds.probe_round()
    assert edge.medians_ms() == {"edge1": 1.0, "edge2": 2.0}
    assert edge.rounds.completed == 1


def test_a_dead_peer_keeps_its_round_trips_for_one_window():
    edge = Edge("--round", "10")  # three turns of 10 s
    edge.rounds.probe_round()
    edge.dead = {"edge1"}
    edge.pass_time(29)
    edge.rounds.probe_round()
    assert edge.medians_ms() == {"edge1": 1.0, "edge2": 2.0}
    edge.pass_time(2)
    assert edge.medians_ms() == {"edge1": None, "edge2": 2.0}


def test_peers_take_turns_within_the_window():
    # 9 peers, 2 a round: 5 rounds of 10 s for all, kept for 150 s
    edge = Edge("--round", "10", "--neighbours", "2", peers=ADDRESS)
    for turn in range(12):
        edge.rounds.probe_round()
        assert len(edge.medians_ms()) == min(2 * (turn + 1), 9)
        edge.pass_time(10)
    assert b'sent_total{source="me"} 48.0' in edge.rounds.metrics()  # 12 rounds, 2 neighbours, 2 probes of each


def test_without_a_name_service_the_last_peers_are_kept():
    edge = Edge()
    edge.rounds.probe_round()
    edge.peers = LatencyMapError("agents-not-resolved", host="agents", cause="timeout")
    for _ in range(3):
        edge.rounds.probe_round()
    assert edge.medians_ms() == {"edge1": 1.0, "edge2": 2.0}
    assert [(each.code, each.fields["kept"]) for each in edge.reported] == [("agent-peers-stale", 2)]
    edge.peers = dict(ADDRESS)
    edge.rounds.probe_round()
    edge.peers = LatencyMapError("agents-not-resolved", host="agents", cause="timeout")
    edge.rounds.probe_round()
    assert len(edge.reported) == 2


def test_an_agent_whose_rounds_stall_is_unhealthy():
    edge = Edge("--round", "10")  # three of 10 s, and 1.5 s each to find its peers
    assert edge.rounds.alive
    edge.rounds.probe_round()
    edge.pass_time(34)
    assert edge.rounds.alive
    edge.pass_time(1)
    assert not edge.rounds.alive
    edge.rounds.probe_round()
    assert edge.rounds.alive
