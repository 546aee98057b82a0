import re

import pytest
from refusals import codes

from latency_map.measure.options import FLAGS, VARIABLES, read_options
from latency_map.measure.probes import ProbeMethod

REQUIRED = ["--node", "edge1", "--peers", "edge2=10.7.0.2"]


def test_an_option_that_is_not_given_has_a_default():
    options = read_options(REQUIRED, {})
    assert (options.node, options.peers) == ("edge1", {"edge2": "10.7.0.2"})
    assert (options.port, options.probe_port) == (9109, 9109)
    assert (options.neighbours, options.count, options.rate_per_s, options.round_s) == (10, 5, 5.0, 30.0)
    assert options.method is ProbeMethod.AUTO
    assert options.window_s is None


def test_the_environment_gives_options_too():
    environment = {
        "GESSCALE_NODE": "edge9",
        "GESSCALE_PEERS_DNS": "agents",
        "GESSCALE_RATE": "2.5",
        "GESSCALE_ROUND": "60s",
        "GESSCALE_METHOD": "tcp",
        "GESSCALE_COUNT": "",  # an empty variable counts as unset
    }
    options = read_options(["--rate", "7", "--listen", "[::]:9200"], environment)
    assert (options.node, options.peers_dns, options.round_s) == ("edge9", "agents", 60.0)
    assert options.rate_per_s == 7
    assert options.method is ProbeMethod.TCP
    assert (options.host, options.port, options.probe_port) == ("::", 9200, 9200)
    assert options.count == 5


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ([], "agent-node-missing"),
        (["--node", "a"], "agent-peers-ambiguous"),
        ([*REQUIRED, "--peers-dns", "x"], "agent-peers-ambiguous"),
        ([*REQUIRED[:2], "--peers", "b"], "peer-invalid"),
        ([*REQUIRED, "--node", " "], "map-name-invalid"),
        ([*REQUIRED, "--listen", "x:y"], "host-port-invalid"),
        ([*REQUIRED, "--neighbours", "0"], "agent-integer-invalid"),
        ([*REQUIRED, "--count", "x"], "agent-integer-invalid"),
        ([*REQUIRED, "--rate", "51"], "agent-number-invalid"),
        ([*REQUIRED, "--rate", "nan"], "agent-number-invalid"),
        ([*REQUIRED, "--round", "0"], "agent-number-invalid"),
        ([*REQUIRED, "--timeout", "6"], "agent-number-invalid"),
        ([*REQUIRED, "--method", "udp"], "map-choice-invalid"),
        ([*REQUIRED, "--port", "0"], "agent-integer-invalid"),
        ([*REQUIRED, "--what"], "agent-usage-invalid"),
    ],
)
def test_an_invalid_option_ends_with_exit_code_2_and_a_code(arguments, code, capsys):
    with pytest.raises(SystemExit) as caught:
        read_options(arguments, {})
    assert caught.value.code == 2
    assert codes(capsys.readouterr().err) == [code]


def test_help_names_every_option_and_its_variable(capsys):
    with pytest.raises(SystemExit) as caught:
        read_options(["--help"], {})
    assert caught.value.code == 0
    text = capsys.readouterr().out
    assert [name for name in (*FLAGS, *VARIABLES) if not re.search(rf"{name}\b", text)] == []


def test_no_variable_is_one_that_kubernetes_sets_for_a_service():
    # a service named gesscale gives every pod GESSCALE_PORT=tcp://... and GESSCALE_SERVICE_HOST
    assert not [name for name in VARIABLES if re.fullmatch(r"GESSCALE_(PORT|SERVICE).*", name)]


@pytest.mark.parametrize(
    ("nodes", "options", "turn_s"),
    [
        (6, [], 30),  # five peers, five probes each: five seconds of thirty
        (11, [], 30),
        (12, [], 60),  # 11 others, 10 a round: two rounds
        (101, [], 300),
        # 20 * 10 probes at 5 a second are 40 s, and 2 s for the last reply: longer than the round
        (21, ["--neighbours", "20", "--count", "10"], 42),
        (1, [], 30),
    ],
)
def test_figures_are_kept_for_three_turns_of_every_pair(nodes, options, turn_s):
    parsed = read_options([*REQUIRED, *options], {})
    assert parsed.turn_s(nodes) == turn_s
    assert parsed.kept_s(nodes) == 3 * turn_s
    assert read_options([*REQUIRED, *options, "--window", "77"], {}).kept_s(nodes) == 77
