"""The API server's record of requests, as tests of rights read it."""

from pathlib import Path

import yaml

from testbed.kubernetes.control_plane import Files, write_audit_policy


def test_only_service_accounts_are_recorded_and_no_contents(tmp_path: Path) -> None:
    files = Files(directory=tmp_path)
    write_audit_policy(files)
    first, rest = yaml.safe_load(files.audit_policy.read_text())["rules"]
    assert first == {"level": "Metadata", "userGroups": ["system:serviceaccounts"]}
    assert rest == {"level": "None"}
