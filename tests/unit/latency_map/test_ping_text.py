"""Outputs of ping in the forms of its versions, languages and systems, and what is wrong with some of them."""

import math
from functools import partial
from statistics import median

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ping_forms import busybox, fping, iputils, ping6, windows
from refusals import refused

from latency_map import DelayUnit, ImportOptions, LatencyMapError, parse_survey

HERE = ImportOptions(probed_from="edge1")
FORMS = {
    "iputils": iputils,
    "French": partial(iputils, time="temps", words="octets de"),
    "German": partial(iputils, time="Zeit", words="Bytes von"),
    "Spanish": partial(iputils, time="tiempo", words="bytes desde"),
    "Czech": partial(iputils, time="čas", words="bajtů od"),
    "iputils with a comma": partial(iputils, comma=True),
    "busybox": busybox,
    "inetutils with a comma": partial(busybox, comma=True),
    "ping6": ping6,
    "Windows": windows,
    "Windows in German": partial(windows, words=("Ping wird ausgeführt für", "mit", "Antwort von", "Bytes", "Zeit")),
    "Windows in French": partial(
        windows, words=("Envoi d’une requête 'ping' sur", "avec", "Réponse de", "octets", "temps")
    ),
    "fping": fping,
}


def read(text, **options):
    return parse_survey(text, options=HERE, **options)


def codes(problems):
    return [problem.code for problem in problems]


def delay_ms(imported, target="edge2"):
    return float(imported.survey.rtt_ms[0, imported.survey.names.index(target)])


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@given(replies=st.lists(st.none() | st.floats(0.001, 9e3), min_size=1, max_size=8))
def test_every_form_gives_the_median_of_the_replies(form, replies):
    imported = read(form(replies))
    known = [delay for delay in replies if delay is not None]
    found = delay_ms(imported)
    if not known:
        assert math.isnan(found)
        assert "import-targets-silent" in codes(imported.notes)
        return
    # whole milliseconds of Windows, whose <1ms counts as 1; three digits of the others, so 0.5 ms at 100 ms and more
    margin = 1 if "TTL=" in form(replies) else max(0.51, 1e-3 * max(known))
    assert found == pytest.approx(median(known), abs=margin)
    assert imported.unit is DelayUnit.MS


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@given(replies=st.lists(st.floats(2, 90), min_size=2, max_size=8), data=st.data())
def test_a_reply_that_is_missing_or_changed_is_never_silent(form, replies, data):
    lines = form(replies).splitlines(keepends=True)
    of_reply = [
        at for at, line in enumerate(lines) if "ttl=" in line.lower() or "hlim=" in line or "64 bytes, " in line
    ]
    at = data.draw(st.sampled_from(of_reply))
    with refused("map-ping-replies-unread", LatencyMapError):
        read("".join(lines[:at] + lines[at + 1 :]))
    for time in ("time", "temps", "Zeit", "tiempo", "čas", "64 bytes, "):
        lines[at] = lines[at].replace(f" {time}=", f" {time}=9").replace("64 bytes, ", "64 bytes, 9")
    # a digit in front makes a reply 900 ms longer at least, so the mean of 8 replies at least 100 ms
    with refused("map-ping-mean-contradicted", LatencyMapError):
        read("".join(lines))


@pytest.mark.parametrize(
    "reply",
    [
        "64 байта из 10.0.0.2: icmp_seq=1 ttl=64 время=10.4 мс",
        "64 バイト応答 送信元 10.0.0.2: icmp_seq=1 ttl=64 時間=10.4ミリ秒",
        "64 bytes from 10.0.0.2: icmp_seq=1 ttl=64 time=10.4",
        "64 bytes from 10.0.0.2: icmp_seq=1 ttl=64",
        "64 bytes from 10.0.0.2: icmp_seq=1 ttl=64 time=1.234,5 ms",
        "Ответ от 10.0.0.2: число байт=32 время=14мс TTL=54",
    ],
)
def test_a_reply_that_cannot_be_read_is_refused(reply):
    with refused("map-ping-unreadable", LatencyMapError, place="line 2"):
        read(f"PING edge2 (10.0.0.2) 56(84) bytes of data.\n{reply}\n")


def test_units_of_replies_may_differ():
    replies = "".join(
        f"64 bytes from 10.0.0.2: seq={n} ttl=64 time={time}\n" for n, time in enumerate(("650 us", "1.1 ms", "1.2 s"))
    )
    assert delay_ms(read(f"PING edge2 (10.0.0.2): 56 data bytes\n{replies}")) == 1.1


def test_older_versions_call_the_sequence_a_request():
    assert delay_ms(read(iputils([5, 7]).replace("icmp_seq", "icmp_req"))) == 6


def test_only_the_summary_of_a_quiet_run_is_used_and_that_is_noted():
    quiet = "".join(line for line in iputils([10.4, 10.6, 100]).splitlines(keepends=True) if "ttl=" not in line)
    imported = read(quiet)
    assert delay_ms(imported) == 40.333  # the mean of 10.4, 10.6, 100
    assert "import-ping-means" in codes(imported.notes)
    assert "import-ping-means" not in codes(read(iputils([10.4, 10.6, 100])).notes)


def test_duplicates_count_in_the_mean_of_the_summary_only():
    doubled = iputils([5, 6]).replace(
        "ttl=64 time=6.00 ms", "ttl=64 time=6.00 ms\n64 bytes from edge2: icmp_seq=2 ttl=64 time=505 ms (DUP!)"
    )
    # (5 + 6 + 505) / 3 = 172
    doubled = doubled.replace("2 received", "2 received, +1 duplicates").replace("5.500", "172.000")
    assert delay_ms(read(doubled)) == 5.5


def test_replies_without_a_valid_time_are_left_out_with_a_warning():
    text = "PING edge2 (10.0.0.2) 56(84) bytes of data.\n64 bytes from 10.0.0.2: icmp_seq=1 ttl=64 time=-3.00 ms\n"
    text += "Warning: time of day goes back (-1234us), taking countermeasures.\n"
    for time in ("0.000", "5.20", "0.000"):
        text += f"64 bytes from 10.0.0.2: icmp_seq=2 ttl=64 time={time} ms\n"
    imported = read(text)
    assert delay_ms(imported) == 5.2
    assert {"import-ping-invalid", "import-ping-complains"} <= set(codes(imported.warnings))
    nothing = read(text.replace("5.20", "0.000"))
    assert math.isnan(delay_ms(nothing))
    assert "import-ping-invalid" in codes(nothing.warnings)


def test_a_target_that_does_not_resolve_is_reported():
    imported = read(iputils([5]) + "ping: edge3: Name or service not known\n" + iputils([7]).replace("edge2", "edge4"))
    assert imported.survey.names == ("edge1", "edge2", "edge4")
    assert "import-ping-complains" in codes(imported.warnings)


def test_loss_of_a_run_does_not_hide_another_run_of_the_same_target():
    imported = read(iputils([None, None]) + iputils([5, 7]))
    assert delay_ms(imported) == 6


@pytest.mark.parametrize("title", ["statistiche di ping di edge2", "statystyki dla edge2", "edge2 ping 统计"])
def test_the_title_of_a_summary_in_another_language_names_no_other_node(title):
    assert read(iputils([5]).replace("edge2 ping statistics", title)).survey.names == ("edge1", "edge2")


def test_replies_from_another_address_are_left_out_with_a_warning():
    imported = read(iputils([5, 7, 9]).replace("time=9.00 ms", "time=9.00 ms (DIFFERENT ADDRESS!)"))
    assert delay_ms(imported) == 6
    assert "import-ping-invalid" in codes(imported.warnings)


def test_runs_may_write_in_turns():
    first, second = iputils([5, 6]).splitlines(), iputils([50, 70]).replace("edge2", "edge3").replace("0.2", "0.3")
    turns = [line for pair in zip(first, second.splitlines(), strict=True) for line in pair]
    turns.sort(key=lambda line: "ttl=" not in line and not line.startswith("PING"))  # the summaries at the end
    text = "\n".join(turns[:6] + first[3:] + second.splitlines()[3:])
    imported = read(text)
    assert (delay_ms(imported), delay_ms(imported, "edge3")) == (5.5, 60)


def test_fping_may_run_several_times():
    assert delay_ms(read(fping([5, 7]) + fping([60, None, 90]))) == 33.5  # the median of 5, 7, 60, 90
    assert delay_ms(read("edge2 : 5.00 7.00\nedge2 : 60.0 - 90.0\n")) == 33.5


def test_times_of_replies_are_the_age_of_the_map():
    stamped = iputils([5, 6]).replace("64 bytes", "[1795273033.5] 64 bytes", 1)
    assert read(stamped).survey.measured_at_s == 1795273033.5


def test_fping_may_show_only_hosts_that_are_alive():
    imported = read("edge2 (0.45 ms)\nedge3 (12.3 ms)\n")
    np.testing.assert_array_equal(imported.survey.rtt_ms[0], [0, 0.45, 12.3])


def test_replies_of_windows_from_another_host_are_no_replies_of_the_target():
    text = windows([14, None]).replace("Request timed out.", "Reply from 10.0.0.9: Destination host unreachable.")
    assert delay_ms(read(text.replace("Received = 1", "Received = 2"))) == 14
