"""``testbed``, also ``gesscale testbed``: the commands of the local cluster."""

from gesscale.cli.deferred import Deferred, deferred_group

COMMANDS = {
    "up": Deferred(
        target="testbed.cluster.cli:up",
        help="Bring a cluster up; does nothing where it is up and well.",
        example="testbed up edge8",
    ),
    "prepare": Deferred(
        target="testbed.cluster.cli:prepare",
        help="Make once what saves time later: the compiled relay, the archive of Spark's classes (half a minute).",
        example="testbed prepare",
    ),
    "check": Deferred(
        target="testbed.cluster.cli:check",
        help="Measure every pair of nodes against the map; exits 3 beyond 2 ms or 5 %.",
        example="testbed check -o json",
    ),
    "status": Deferred(
        target="testbed.cluster.cli:status",
        help="Show nodes and processes of a cluster; exits 3 where something is wrong with it.",
        example="testbed status",
    ),
    "down": Deferred(
        target="testbed.cluster.cli:down",
        help="Take a cluster down, and whatever a crash left of it; nothing to do is no error.",
        example="testbed down --all",
    ),
    "workflow": Deferred(
        target="testbed.demo.commands:workflow",
        help="Scale two Spark operators, joined by a real Kafka broker, through one compressed day (six minutes).",
        example="testbed workflow --policy ds2",
    ),
    "nexmark": Deferred(
        target="testbed.demo.commands:nexmark",
        help="Scale a query of Nexmark, with state, through a day, and compare its result with a batch, row for row.",
        example="testbed nexmark q5 --policy ds2",
    ),
    "league": Deferred(
        target="testbed.league.command:league",
        help="Play policies on real Spark over emulated edge nodes, score them as the arena does, and simulate "
        "the same cases.",
        example="testbed league --results live --policies gesscale2,ds2",
    ),
    "chaos": Deferred(
        target="testbed.chaos.command:chaos",
        help="Change placements at random while faults strike, on real Spark over emulated nodes, and count every row.",
        example="testbed chaos --results chaos --seed 1 --changes 20",
    ),
    "kubernetes": Deferred(
        target="testbed.kubernetes.cli:app",
        help="A real Kubernetes on an emulated edge: control plane and kubelets on this machine, without Docker.",
    ),
}

app = deferred_group(
    "testbed",
    "Emulated edge nodes on this machine: network namespaces, a delay between every two of them.\n\n"
    "Exit codes: 0 done, 1 failed, 2 wrong input or usage, 3 a check failed, 130 interrupted.",
    COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main() -> None:
    """Run ``testbed``."""
    from gesscale.cli.app import run

    run(app)
