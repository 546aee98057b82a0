"""Access to the page by token, host and client."""

import base64

import pytest
from refusals import refused

from gesscale.common.http_server import HttpStatusError
from gesscale.errors import InputError
from gesscale.service.access import Access, read_token

TOKEN = "0123456789abcdef"  # noqa: S105 - of these tests


def asked(access, path="/", peer="127.0.0.1", **headers):
    """Return the status with which a request is refused; 200 where it is not."""
    sent = {"Host": "localhost:8080", **{name.replace("_", "-"): value for name, value in headers.items()}}
    try:
        access(path, sent.get, peer)
    except HttpStatusError as refusal:
        return int(refusal.status)
    return 200


def basic(text):
    return "Basic " + base64.b64encode(text.encode()).decode()


def test_without_a_token_this_machine_may_look():
    assert asked(Access()) == 200
    assert asked(Access(), Host="[::1]:8080") == 200
    assert asked(Access(), Host="127.0.0.1") == 200


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8080", "localhost.evil.example", ""])
def test_a_name_that_a_stranger_points_at_this_machine_is_refused(host):
    assert asked(Access(), Host=host) == 403


def test_a_controller_serves_its_page_to_loopback_only():
    access = Access(loopback_only=True)
    assert asked(access, "/api/run", peer="10.42.0.7") == 403
    assert asked(access, "/", peer="::ffff:10.42.0.7") == 403
    assert asked(access, "/", peer="::ffff:127.0.0.1") == 200
    for path in ("/metrics", "/healthz", "/readyz"):
        assert asked(access, path, peer="10.42.0.7", Host="gesscale-controller:8080") == 200


@pytest.mark.parametrize(
    ("given", "status"),
    [
        (f"Bearer {TOKEN}", 200),
        (basic(f"anybody:{TOKEN}"), 200),
        (basic(f"anybody:{TOKEN}x"), 401),
        ("Bearer ", 401),
        ("Basic !!", 401),
        ("", 401),
        (f"Bearer {TOKEN}é", 401),
    ],
)
def test_a_token_gives_access_from_any_host(given, status):
    access = Access(token=TOKEN, loopback_only=True)
    assert asked(access, "/", peer="10.0.0.9", Host="edge1", Authorization=given) == status
    assert asked(access, "/metrics", peer="10.0.0.9", Authorization=given) == status
    assert asked(access, "/healthz", peer="10.0.0.9") == 200


def test_a_token_is_read_from_a_file_of_its_owner(tmp_path):
    file = tmp_path / "token"
    file.write_text(f"{TOKEN}\n")
    file.chmod(0o600)
    assert read_token(file) == TOKEN
    for mode in (0o644, 0o604, 0o620):
        file.chmod(mode)
        with refused("token-file-exposed", InputError, file=file, mode=f"{mode:04o}"):
            read_token(file)


@pytest.mark.parametrize("text", ["", "short", "two words of a token", "a" * 5000, "0123456789abcdef\nand more"])
def test_a_file_that_holds_no_token_is_refused(tmp_path, text):
    file = tmp_path / "token"
    file.write_text(text)
    file.chmod(0o600)
    with refused("token-invalid", InputError, min=16, max=4096):
        read_token(file)
