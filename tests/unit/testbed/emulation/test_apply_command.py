"""``testbed apply`` where no node is reached."""

import pytest
import yaml
from typer.testing import CliRunner

from gesscale.errors import ClusterError, InputError
from testbed.cli import app


@pytest.fixture
def apply(tmp_path):
    (tmp_path / "map.csv").write_text("rtt_ms,a,b\na,0,10\nb,10,0\n")
    (tmp_path / "hosts.csv").write_text("name,address\na,10.0.0.1\nb,10.0.0.2\n")

    def invoke(*options, file=True):
        given = [str(tmp_path / "map.csv"), "--kind", "rtt"] if file else []
        return CliRunner().invoke(app, ["apply", *given, "--hosts", str(tmp_path / "hosts.csv"), *options])

    return invoke


def test_a_manifest_goes_to_stdout_and_talk_to_stderr(apply):
    result = apply("--daemonset", "--namespace", "lab")
    assert result.exit_code == 0, result.output
    assert [part["kind"] for part in yaml.safe_load_all(result.stdout)] == ["ConfigMap", "DaemonSet"]
    assert "read as" in result.stderr


@pytest.mark.parametrize(
    ("options", "file", "says"),
    [
        ((), True, "expected one of --ssh"),
        (("--ssh", "--daemonset"), True, "expected one of --ssh"),
        (("--ssh",), False, "expected the MAP"),
        (("--daemonset", "--undo"), True, "kubectl delete"),
        (("--daemonset", "--for", "5m"), True, "until it is deleted"),
        (("--ssh", "--for", "later"), True, "a time such as"),
        (("--ssh", "--hosts", "nowhere.csv"), True, "nowhere.csv"),
    ],
)
def test_wrong_input_is_said(apply, options, file, says):
    error = apply(*options, file=file).exception
    assert isinstance(error, InputError)
    assert says in str(error)


def test_nodes_that_cannot_be_reached_are_named_and_nothing_is_changed(apply, tmp_path):
    hosts = tmp_path / "away.csv"
    # nothing listens at port 1 of the loopback
    hosts.write_text("name,address,port,ssh\na,10.0.0.1,1,127.0.0.1\nb,10.0.0.2,1,127.0.0.1\n")
    empty = tmp_path / "ssh_config"
    empty.write_text("")
    error = apply("--ssh", "--hosts", str(hosts), "--ssh-config", str(empty)).exception
    assert isinstance(error, ClusterError)
    assert str(error).startswith(
        "nothing was changed, as not every node can be delayed:\n  a: ssh: connect to"
    )
    assert "\n  b: ssh: connect to" in str(error)
