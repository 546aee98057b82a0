"""The folder of a run: what is played, what came of each change, and the report.

RESULTS/chaos.json      what is played
RESULTS/changes.jsonl   a line for each change, as soon as it is over
RESULTS/parts/N/        a run of the query: logs, the loop's settings, knowledge and steps
RESULTS/chaos.md        the report
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gesscale.errors import InputError
from testbed.chaos.changing import in_words
from testbed.chaos.judge import ChangeRecord, ChaosVerdict, judge, markdown, read_records
from testbed.chaos.plan import PlannedChange
from testbed.demo.stage import Stage
from testbed.results_folder import check_ours

CHANGES, REPORT, SETTING = "changes.jsonl", "chaos.md", "chaos.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """Where a run is kept.

    Attributes
    ----------
    folder
        Of this run alone.
    """

    folder: Path

    def claim(self, wanted: Mapping[str, Any]) -> None:
        """Take the folder for a run.

        Parameters
        ----------
        wanted
            What is played.

        Raises
        ------
        InputError
            Where it cannot be written, or holds something else than an earlier command of the same run left.
        """
        file = self.folder / SETTING
        text = json.dumps(wanted, indent=2) + "\n"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            found = json.loads(file.read_text()) if file.exists() else None
            check_ours(self.folder, mark=SETTING, holds="of chaos")
        except (OSError, ValueError) as error:
            message = f"results {self.folder}: {error}; name a folder that can be written"
            raise InputError(message) from error
        if found not in (None, json.loads(text)):
            message = (
                f"results {self.folder}: expected a run of {dict(wanted)}, this is one of {found}; "
                "name another folder"
            )
            raise InputError(message)
        file.write_text(text)

    def records(self) -> tuple[ChangeRecord, ...]:
        """Return what is done."""
        return read_records(self.folder / CHANGES)

    def missing(self, plan: Sequence[PlannedChange]) -> list[PlannedChange]:
        """Return what of a plan is not done."""
        done = {record.number for record in self.records()}
        return [change for change in plan if change.number not in done]

    def next_part(self) -> int:
        """Return the number of the next run of the query."""
        return max((record.part for record in self.records()), default=-1) + 1

    def part(self, number: int) -> Path:
        """Return the folder of a run of the query."""
        return self.folder / "parts" / str(number)

    def keep(self, record: ChangeRecord, stage: Stage) -> None:
        """Keep and say what came of a change."""
        with (self.folder / CHANGES).open("a") as file:
            file.write(record.line())
        stage.say(in_words(record))

    def report(self, title: str, left: Sequence[str]) -> ChaosVerdict:
        """Judge all changes, and write the report.

        Parameters
        ----------
        title
            What was played; the number of changes goes before it.
        left
            What was still there when all was taken down.
        """
        records = self.records()
        verdict = judge(records, left)
        (self.folder / REPORT).write_text(
            markdown(f"Chaos: {len(records)} changes of {title}", records, verdict)
        )
        return verdict
