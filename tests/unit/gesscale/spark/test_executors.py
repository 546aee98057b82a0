from gesscale.batch_record import HostWork
from gesscale.spark.executors import ExecutorWatch, JobWatch, SparkJob, TaskTotals, work_by_host
from gesscale.spark.reconcile_actions import LiveExecutor

RUN = "0f4e"


class Spark:
    """Job records that a test writes; the n-th job has the stages n and n + 100."""

    def __init__(self):
        self.jobs = []
        self.stages = {}
        self.looked_at = []
        self.pauses_s = []
        self.late = []
        self.watch = JobWatch(self, self.pause)

    def run(self, batch, run=RUN, *, ended=True, description=None, **tasks):
        number = len(self.jobs)
        text = f"q\nid = 77\nrunId = {run}\nbatch = {batch}" if description is None else description
        self.jobs.append(SparkJob(description=text, is_running=not ended, stages=(number, number + 100)))
        self.stages[number] = tasks
        return number

    def end(self, number):
        job = self.jobs[number]
        self.jobs[number] = SparkJob(description=job.description, is_running=False, stages=job.stages)

    def pause(self, seconds):
        self.pauses_s.append(seconds)
        for happens in self.late:
            happens()
        self.late.clear()

    def job_count(self):
        return len(self.jobs)

    def job(self, number):
        self.looked_at.append(number)
        return self.jobs[number]

    def task_totals(self, stage):
        return self.stages.get(stage, {})

    def work(self, batch, run=RUN):
        return self.watch.work_of_batch(run, batch).by_executor


def test_the_jobs_of_a_batch_add_up():
    spark = Spark()
    spark.run(4, a=TaskTotals(10, 1.0), b=TaskTotals(20, 2.0))
    spark.run(4, a=TaskTotals(1, 0.5))
    spark.stages[101] = {"b": TaskTotals(0, 0.25)}  # the second stage of the second job
    assert spark.work(4) == {"a": TaskTotals(11, 1.5), "b": TaskTotals(20, 2.25)}
    assert spark.pauses_s == []


def test_the_largest_stage_of_a_batch_gives_its_tasks():
    spark = Spark()
    spark.run(4, a=TaskTotals(10, 1.0, tasks=3), b=TaskTotals(20, 2.0, tasks=1))
    spark.stages[100] = {"a": TaskTotals(0, 0.1, 2, tasks=2)}  # after the shuffle
    spark.run(4, b=TaskTotals(1, 0.5, tasks=1))
    work = spark.watch.work_of_batch(RUN, 4)
    assert (work.tasks, work.by_executor["a"].tasks) == (4, 5)


def test_other_batches_queries_and_jobs_do_not_count():
    spark = Spark()
    spark.run(3, a=TaskTotals(1, 1.0))
    spark.run(4, "9a9a", a=TaskTotals(2, 1.0))
    spark.run(0, description="broadcast exchange (runId 0f4e)", a=TaskTotals(4, 1.0))
    spark.run(0, description="", a=TaskTotals(4, 1.0))
    spark.run(4, a=TaskTotals(8, 1.0))
    spark.run(5, a=TaskTotals(16, 1.0))
    assert spark.work(4) == {"a": TaskTotals(8, 1.0)}
    assert spark.work(5) == {"a": TaskTotals(16, 1.0)}, "it ended before the request"
    assert spark.work(4, "9a9a") == {"a": TaskTotals(2, 1.0)}


def test_late_job_records_are_awaited():
    spark = Spark()
    first = spark.run(0, ended=False, a=TaskTotals(1, 1.0))
    spark.late.append(lambda: spark.end(first))
    assert spark.work(0) == {"a": TaskTotals(1, 1.0)}
    assert spark.pauses_s == [0.05]


def test_only_the_newest_jobs_of_a_long_session_are_read():
    spark = Spark()
    for batch in range(1000):
        spark.run(batch, a=TaskTotals(1, 1.0))
    assert spark.work(999) == {"a": TaskTotals(1, 1.0)}
    assert len(spark.looked_at) == 64
    for batch in range(1000, 1200):
        spark.run(batch, a=TaskTotals(1, 1.0))
        spark.watch.work_of_batch("another", batch)
    assert len(spark.watch._work) <= 64


# By host


def executor(identity, host, *, node=None, slots=1):
    return LiveExecutor(id=identity, host=host, node=node, slots=slots)


def test_rows_are_divided_in_proportion_to_records():
    known = [executor("1", "10.0.9.2"), executor("2", "10.1.0.9", node="edge1"), executor("3", "10.0.0.4")]
    done = {"1": TaskTotals(300, 1.5), "2": TaskTotals(100, 0.75)}
    # 200 rows that were read twice, 400 records: three quarters of them on the first executor.
    assert work_by_host(done, [*known, *known], 200) == {
        "10.0.9.2": HostWork(rows=150.0, busy_s=1.5),
        "edge1": HostWork(rows=50.0, busy_s=0.75),
        "10.0.0.4": HostWork(rows=0.0, busy_s=0.0),
    }


def test_time_is_the_mean_over_the_slots_of_a_host():
    known = [executor("1", "h", slots=2), executor("2", "h", slots=2)]
    done = {"1": TaskTotals(10, 4.0, cpu_s=1.0), "2": TaskTotals(30, 2.0, cpu_s=2.0)}
    assert work_by_host(done, known, 40) == {"h": HostWork(rows=40.0, busy_s=1.5, cpu_s=0.75)}


def test_cpu_time_is_unknown_if_no_task_reports_it():
    known = [executor("1", "a"), executor("2", "b")]
    measured = work_by_host({"1": TaskTotals(10, 4.0, cpu_s=1.0)}, known, 10)
    assert {host: work.cpu_s for host, work in measured.items()} == {"a": 1.0, "b": 0.0}
    # Three rows of 0.5 s in Python and 1 s in the JVM.
    assert work_by_host({"1": TaskTotals(10, 4.0, cpu_s=1.0)}, known, 3, 0.5)["a"].cpu_s == 2.5
    unmeasured = work_by_host({"1": TaskTotals(10, 4.0)}, known, 10)
    assert {work.cpu_s for work in unmeasured.values()} == {None}


def test_without_record_counts_the_work_is_unknown():
    known = [executor("1", "h")]
    assert work_by_host({"1": TaskTotals(0, 1.0)}, known, 40) is None
    assert work_by_host({}, known, 40) is None
    assert work_by_host({"1": TaskTotals(40, 1.0)}, [], 40) is None
    assert work_by_host({"1": TaskTotals(0, 1.0)}, known, 0) == {"h": HostWork(rows=0.0, busy_s=1.0)}


def test_state_partitions_are_counted_by_host():
    known = [executor("1", "a"), executor("2", "a"), executor("3", "b"), executor("4", "c")]
    # Two stages with state: the first executor ran 2 + 1 of their tasks, the second 1, the third 4, the fourth none.
    done = {"1": TaskTotals(10, 1.0, 3), "2": TaskTotals(0, 1.0, 1), "3": TaskTotals(10, 1.0, 4)}
    held = {host: work.state_partitions for host, work in work_by_host(done, known, 20).items()}
    assert held == {"a": 4, "b": 4, "c": 0}
    without = work_by_host({"1": TaskTotals(10, 1.0)}, known, 10)
    assert {work.state_partitions for work in without.values()} == {None}


def live(identity, *, node=None, worked=False, warm=True):
    return LiveExecutor(id=identity, host="10.1.0.9", node=node, has_worked=worked, is_warm=warm)


def test_the_first_task_is_dated_when_it_is_first_seen():
    now_s, there = [10.0], [live("1", node="a")]
    watch = ExecutorWatch(lambda: there, lambda: now_s[0])
    watch.now(max_age_s=0)
    assert watch.first_task_at_s("1") is None
    for at_s in (12.0, 13.0):
        now_s[0], there[:] = at_s, [live("1", node="a", worked=True)]
        watch.now(max_age_s=0)
        assert watch.first_task_at_s("1") == 12.0
    there.clear()
    watch.now(max_age_s=0)
    assert watch.first_task_at_s("1") is None
