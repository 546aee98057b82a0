"""Scripts under real shells, where every program only writes down how it was called."""

import os
import select
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

CANARY = "pwned"
"""A program that no script has any business with."""

HANG_S = 240
OURS = "qdisc htb 6e5: root refcnt 2\n"
_BUSYBOX = Path(__file__).parents[1] / ".cache" / "containerd" / "bin" / "busybox"

_WRITE_DOWN = '#!/bin/sh\nprintf "%s\\0" "$#" "${0##*/}" "$@" >>"$GS_FOLDER/calls"\n'
_PROGRAMS = {
    "tc": 'if [ "$2" = show ]; then /bin/cat "$GS_FOLDER/qdisc"; fi',
    CANARY: "",
    # until the test allows it
    "sleep": 'for _ in $(/usr/bin/seq 3000); do [ ! -e "$GS_FOLDER/go" ] || exit 0; /bin/sleep 0.01; done',
    "setsid": 'exec "$@"',
}
_REAL = ("cat", "dirname", "grep", "rm")
_SH = """#!/bin/sh
case $1 in
  -c) body=$2; shift 2; exec "$GS_SHELL" -c '. "$GS_FOLDER/functions"'"
$body" "$@" ;;
  -s) exec "$GS_SHELL" -s ;;
  *) exec "$GS_SHELL" -c '. "$GS_FOLDER/functions"; . "$0"' "$@" ;;
esac
"""


def shells() -> dict[str, str]:
    """Return the shells of this machine by name; Debian's sh is dash, that of small systems is BusyBox's."""
    found = {name: shutil.which(name) for name in ("dash", "bash", "busybox")}
    found["busybox"] = found["busybox"] or (str(_BUSYBOX) if _BUSYBOX.exists() else None)
    known = {name: path for name, path in found.items() if path}
    return known or {"sh": "/bin/sh"}


@dataclass(frozen=True, kw_only=True)
class Ran:
    """What came of a script."""

    code: int
    calls: list[tuple[str, ...]]
    output: str
    stderr: str
    strays: list[str]


class StubShell:
    """A shell with nothing but stubs on its path."""

    def __init__(self, folder: Path, program: str) -> None:
        self.folder = folder
        self._programs, self.run_folder, self._here = (folder / name for name in ("bin", "run", "here"))
        for each in (self._programs, self.run_folder, self._here, folder / "shell"):
            each.mkdir()
        (folder / "shell" / "sh").symlink_to(program)  # BusyBox does what its name says
        texts = {name: f"{_WRITE_DOWN}{body}\n" for name, body in _PROGRAMS.items()}
        texts |= {name: f'{_WRITE_DOWN}exec {shutil.which(name)} "$@"\n' for name in _REAL}
        for name, text in {**texts, "sh": _SH}.items():
            (self._programs / name).write_text(text)
            (self._programs / name).chmod(0o755)
        # BusyBox takes programs of its own before those on the path, and functions before these
        lines = (f'{name}() {{ "{self._programs}/{name}" "$@"; }}\n' for name in (*texts, "sh"))
        in_background = f'setsid() {{ exec "{self._programs}/setsid" "$@"; }}\n'  # else a shell waits for it
        (folder / "functions").write_text("".join((*lines, in_background)) if "busybox" in program else "")
        self.environment = {
            "PATH": str(self._programs),
            "GS_FOLDER": str(folder),
            "GS_SHELL": str(folder / "shell" / "sh"),
        }

    def expect(self, *, qdisc: str = "") -> None:
        """Set what ``tc qdisc show`` prints, and forget earlier calls."""
        (self.folder / "qdisc").write_text(qdisc)
        (self.folder / "calls").write_text("")
        (self.folder / "go").unlink(missing_ok=True)

    def run(self, script: str) -> Ran:
        """Run the text of a script, and what it leaves behind, to its end."""
        file = self.folder / "script"
        file.write_text(script.replace("timer=/run/", f"timer={self.run_folder}/"))
        with self._started(file) as process:
            output, stderr = process.communicate(timeout=HANG_S)
        return self.ran(process.returncode, output, stderr)

    def ran(self, code: int, output: str = "", stderr: str = "") -> Ran:
        """Return what has been called and left since `expect`."""
        strays = [str(path) for folder in (self.run_folder, self._here) for path in folder.iterdir()]
        return Ran(code=code, calls=self.calls(), output=output, stderr=stderr, strays=strays)

    def calls(self) -> list[tuple[str, ...]]:
        """Return the calls so far."""
        words = (self.folder / "calls").read_bytes().decode(errors="surrogateescape").split("\0")
        found = []
        while len(words) > 1:
            end = 2 + int(words[0])
            found.append(tuple(words[1:end]))
            words = words[end:]
        return found

    def _let_sleepers_go(self) -> None:
        (self.folder / "go").touch()

    @contextmanager
    def _started(self, file: Path) -> Iterator[subprocess.Popen[str]]:
        """Start a script; on the way out, let sleepers go and wait until nothing of it runs any more."""
        alive, held = os.pipe()
        try:
            process = subprocess.Popen(
                (str(self._programs / "sh"), str(file)),
                cwd=self._here,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                errors="surrogateescape",
                pass_fds=(held,),
            )
        finally:
            os.close(held)
        try:
            yield process
        finally:
            self._let_sleepers_go()
            ended, _, _ = select.select((alive,), (), (), HANG_S)
            os.close(alive)
            process.kill()
            process.communicate()
        assert ended, "something of the script still runs"
