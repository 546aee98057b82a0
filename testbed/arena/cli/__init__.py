"""``gesscale arena``: policies against each other, without a cluster."""

from gesscale.cli.deferred import Deferred, deferred_group

COMMANDS = {
    "run": Deferred(
        target="testbed.arena.cli.run:run",
        help="Play policies on workloads with many seeds; the same seed is the same world to each policy.",
        example="gesscale arena run --policies gesscale2,hpa-cpu --workload mine.csv --seeds 10 --results mine",
    ),
    "compare": Deferred(
        target="testbed.arena.cli.results:compare",
        help="Compare every policy with a baseline, seed by seed: means, ratios, how often it was better.",
        example="gesscale arena compare mine --baseline hpa-cpu",
    ),
    "league": Deferred(
        target="testbed.arena.cli.results:league",
        help="Rank the policies over all loads by what they cost, and name the winner of each load.",
        example="gesscale arena league mine --price 10",
    ),
    "report": Deferred(
        target="testbed.arena.cli.results:report",
        help="Write results as one HTML page: the course of a run of each policy, and the comparison.",
        example="gesscale arena report mine --to mine.html",
    ),
    "course": Deferred(
        target="testbed.arena.cli.results:course",
        help="Play one run again, and keep every decision and every batch of it: a record to look at and to replay.",
        example="gesscale arena course mine --policy gesscale2 --workload mine.csv --to mine-course",
    ),
    "list": Deferred(
        target="testbed.arena.cli.run:list_",
        help="List policies, workloads and experiments, each with a line on what it is and where it is from.",
        example="gesscale arena list -o json",
    ),
    "score": Deferred(
        target="testbed.arena.cli.results:score",
        help="Compute every metric of a series that was recorded anywhere.",
        example="gesscale arena score series.csv --slo 60s",
    ),
    "validate": Deferred(
        target="testbed.simulator.validation.commands:validate",
        help="Say how far the simulator is from measurements: batch times, and whole runs acted again.",
        example="gesscale arena validate --run reports/demo",
    ),
    "refit": Deferred(
        target="testbed.simulator.validation.commands:refit",
        help="Fit the constants that recorded runs of a real cluster determine, and write each with its origin.",
        example="gesscale arena refit reports/demo --to mine.yaml --about 'my query on my nodes'",
    ),
}

app = deferred_group(
    "arena",
    "Policies against each other on simulated nodes: the same loads, many seeds, intervals.",
    COMMANDS,
)
