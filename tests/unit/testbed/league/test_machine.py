"""How busy the machine was, from what the kernel has counted."""

from testbed.league.live import MachineTimes


def times(folder, load, stat, schedstat):
    (folder / "self").mkdir(parents=True)
    (folder / "loadavg").write_text(f"{load} 1.00 1.00 2/300 4000\n")
    (folder / "stat").write_text(f"cpu  {stat}\ncpu0 {stat}\nintr 5\n")
    (folder / "self" / "schedstat").write_text(f"{schedstat}\n")
    return MachineTimes.now(folder)


def test_shares_are_of_the_time_between(tmp_path):
    # user, nice, system, idle, iowait, irq, softirq, steal, guest, guest_nice
    before = times(tmp_path / "before", 2.5, "100 10 50 1000 20 0 5 7 0 0", "1000 500 9")
    after = times(tmp_path / "after", 9.25, "150 10 70 1020 25 0 10 7 0 0", "1300 600 12")
    # busy: 50 + 20 + 5 = 75; idle: 20 + 5 = 25; the thread ran 300 and waited 100
    found = after.since(before)
    assert found.pop("machine_cores") >= 1
    assert found == {
        "machine_load_before": 2.5,
        "machine_load_after": 9.25,
        "machine_busy_pct": 75.0,
        "machine_stolen_pct": 0.0,
        "loop_waited_pct": 25.0,
    }
    assert after.since(after)["machine_busy_pct"] is None
