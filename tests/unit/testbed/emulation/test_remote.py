"""How hosts are logged in to."""

from pathlib import Path

import pytest

from latency_map import LatencyMapError
from latency_map.emulate.hosts import Host
from testbed.emulation.remote import Login, ScriptResult, ssh_command

HOST = Host(name="edge1", address="10.0.0.1")
OWN = Host(name="edge1", address="10.0.0.1", user="pi", port=2222, ssh="gateway")


@pytest.mark.parametrize(
    ("host", "login", "ending"),
    [
        (HOST, Login(sudo=False), ("--", "10.0.0.1", "sh -s")),
        (HOST, Login(sudo=True), ("--", "10.0.0.1", "sudo -n sh -s")),
        (
            HOST,
            Login(user="root", port=23, sudo=False),
            ("-l", "root", "-p", "23", "--", "10.0.0.1", "sh -s"),
        ),
        # what a host says itself comes first
        (OWN, Login(user="root", sudo=False), ("-l", "pi", "-p", "2222", "--", "gateway", "sh -s")),
        (
            HOST,
            Login(identity=Path("key"), config=Path("conf"), sudo=False),
            ("-F", "conf", "-i", "key", "--", "10.0.0.1", "sh -s"),
        ),
    ],
)
def test_ssh_is_called_as_it_is_asked(host, login, ending):
    command = ssh_command(host, login, as_root=True)
    assert command[0] == "ssh"
    assert command[-len(ending) :] == ending


def test_sudo_is_used_by_itself_only_where_the_login_is_not_root():
    assert "else exec sudo -n" in ssh_command(HOST, Login(), as_root=True)[-1]
    assert ssh_command(HOST, Login(sudo=True), as_root=False)[-1] == "sh -s"


@pytest.mark.parametrize(
    ("login", "says"),
    [({"user": "$(id)"}, "login: expected a user name"), ({"port": 0}, "a port of 1 to 65535")],
)
def test_a_login_that_can_be_none_is_refused(login, says):
    with pytest.raises(LatencyMapError, match=says):
        Login(**login)


def test_nothing_is_asked_of_a_person_and_host_keys_are_checked_as_ssh_is_set_up():
    command = ssh_command(HOST, Login(), as_root=True)
    assert "BatchMode=yes" in command
    assert not any("StrictHostKeyChecking" in part or "KnownHosts" in part for part in command)


@pytest.mark.parametrize(
    ("errors", "problem"), [("one\n\n  two \n", "one / two"), ("", "exit code 7")], ids=["written", "silent"]
)
def test_a_problem_is_shown_in_one_line(errors, problem):
    assert ScriptResult(host=HOST, code=7, output="", errors=errors).problem == problem
