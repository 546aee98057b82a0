"""How the executors of a query shared the work of its batches: reckoned from their courses, when somebody asks."""

from collections.abc import Iterable, Mapping

from testbed.simulator.plant import NO_EFFORT, Effort
from testbed.simulator.spark.batch import Course, Crew
from testbed.simulator.spark.constants import SparkPhysics

Done = tuple[Crew, Course, int]
"""A batch that is done: who worked on it, how it went, and how many rows it had."""


def efforts(physics: SparkPhysics, batches: Iterable[Done]) -> Mapping[str, Effort]:
    """Return what each executor did in some batches together, by node.

    Parameters
    ----------
    physics
        The query.
    batches
        Which ones. Rows that an executor had read when it was lost count for those that read them again.

    Returns
    -------
    mapping of str to Effort
        Rows are those of the partitions that its slots read, times those of a slot in the mean over its slots.
    """
    found: dict[str, Effort] = {}
    for crew, course, rows in batches:
        lanes = crew.slots_each
        shares = zip(_row_shares(physics, course), *_times_s(physics, crew, course), strict=True)
        for slot, (share, work_s, waiting_s) in enumerate(shares):
            node = crew.nodes[slot // lanes]
            sofar = found.get(node, NO_EFFORT)
            found[node] = Effort(
                sofar.rows + share * rows, sofar.work_s + work_s / lanes, sofar.waiting_s + waiting_s / lanes
            )
    return found


def _row_shares(physics: SparkPhysics, course: Course) -> list[float]:
    """Return the share of each slot: its partitions are alike, but for the largest, which is the first slot's."""
    count = max(1, sum(course.tasks))
    if physics.hottest_share * count <= 1 or count == 1 or not course.tasks[course.first_slot]:
        return [own / count for own in course.tasks]
    other = (1 - physics.hottest_share) / (count - 1)
    shares = [other * own for own in course.tasks]
    shares[course.first_slot] += physics.hottest_share - other
    return shares


def _times_s(physics: SparkPhysics, crew: Crew, course: Course) -> tuple[list[float], list[float]]:
    """Return for how long each slot worked, and for how long it was held up by the network, seconds."""
    state = course.state
    work_s, waiting_s = [], []
    for slot, rtt_s in enumerate(crew.rtts_s):
        between_s = physics.wave_round_trips * rtt_s * max(0, course.tasks[slot] - 1)
        idle_s = course.idle_s[slot] if course.idle_s else 0.0
        worked_s = max(0.0, course.ends_s[slot] - course.tasks_from_s - between_s - idle_s)
        waited_s = physics.driver_round_trips * crew.farthest_s + between_s
        if state is not None:
            within_s = physics.state_round_trips * rtt_s * state.tasks[slot]
            worked_s += max(0.0, state.ends_s[slot] - state.from_s - within_s)
            waited_s += physics.exchange_round_trips * crew.apart_s + within_s
        work_s.append(worked_s)
        waiting_s.append(waited_s)
    return work_s, waiting_s
