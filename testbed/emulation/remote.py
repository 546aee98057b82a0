"""Shell scripts run on hosts by the system's ssh, several hosts at a time, each bounded in time."""

import subprocess
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from latency_map.emulate.hosts import Host, check_login
from latency_map.shell import command_line

AT_ONCE = 8
_CONNECT_S = 10
_UNREACHED = 255
_READ = ("sh", "-s")
_WITH_SUDO = ("sudo", "-n", *_READ)
_AUTO = (
    *("sh", "-c"),
    f'if [ "$(id -u)" = 0 ]; then exec {command_line(_READ)}; else exec {command_line(_WITH_SUDO)}; fi',
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    """How to log in to hosts; what is None is as ssh is set up.

    Attributes
    ----------
    user, port
        For hosts that do not say their own.
    identity
        A private key.
    config
        A configuration file to use instead of the user's.
    sudo
        Whether scripts that need root are run by ``sudo -n``; None for where the user is not root.

    Raises
    ------
    LatencyMapError
        The user or the port is none.
    """

    user: str | None = None
    port: int | None = None
    identity: Path | None = None
    config: Path | None = None
    sudo: bool | None = None

    def __post_init__(self) -> None:
        check_login(self.user, self.port, where="login")


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptResult:
    """What came of a script on a host.

    Attributes
    ----------
    code
        Its exit code; None where the host could not be reached or did not answer in time.
    output
        What it wrote to stdout.
    errors
        What it or ssh wrote to stderr, for people.
    """

    host: Host
    code: int | None
    output: str
    errors: str

    @property
    def ok(self) -> bool:
        """Whether the script ran and did what it should."""
        return self.code == 0

    @property
    def problem(self) -> str:
        """What went wrong, in one line."""
        text = " / ".join(line.strip() for line in self.errors.splitlines() if line.strip())
        return text or f"exit code {self.code}"


def run_script(
    host: Host, script: str, login: Login, *, timeout_s: float, as_root: bool = True
) -> ScriptResult:
    """Run a shell script on a host to its end.

    Parameters
    ----------
    script
        Text for ``sh -s``.
    timeout_s
        When it is given up; what runs on the host then may still go on.
    as_root
        Whether it needs root.
    """
    try:
        done = subprocess.run(
            ssh_command(host, login, as_root=as_root),
            input=script,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return ScriptResult(host=host, code=None, output="", errors=f"no answer within {timeout_s:g} s")
    except OSError as error:
        return ScriptResult(host=host, code=None, output="", errors=f"cannot run ssh: {error}")
    code = None if done.returncode == _UNREACHED else done.returncode
    return ScriptResult(host=host, code=code, output=done.stdout, errors=done.stderr)


def run_scripts(
    hosts: Sequence[Host],
    script: Callable[[Host], str],
    login: Login,
    *,
    timeout_s: float,
    as_root: bool = True,
    at_once: int = AT_ONCE,
) -> tuple[ScriptResult, ...]:
    """Run a script of its own on each host, a few at a time; one answer for each, in the order of the hosts."""

    def run(host: Host) -> ScriptResult:
        return run_script(host, script(host), login, timeout_s=timeout_s, as_root=as_root)

    with ThreadPoolExecutor(max_workers=at_once) as pool:
        return tuple(pool.map(run, hosts))


def ssh_command(host: Host, login: Login, *, as_root: bool) -> tuple[str, ...]:
    """Return the command that runs a script from stdin on a host; it asks for nothing and checks host keys."""
    user, port = host.user or login.user, host.port or login.port
    there: tuple[str, ...]
    if not as_root or login.sudo is False:
        there = _READ
    else:
        there = _WITH_SUDO if login.sudo else _AUTO
    return (
        *("ssh", "-o", "BatchMode=yes", "-o", f"ConnectTimeout={_CONNECT_S}"),
        *("-o", "ServerAliveInterval=5", "-o", "ServerAliveCountMax=3"),
        *(("-F", str(login.config)) if login.config else ()),
        *(("-i", str(login.identity)) if login.identity else ()),
        *(("-l", user) if user else ()),
        *(("-p", str(port)) if port else ()),
        *("--", host.ssh or host.address, command_line(there)),
    )
