"""The API server's record of requests, as tests of rights read it."""

import yaml

from testbed.kubernetes.tools import CONFIG


def test_only_service_accounts_are_recorded_and_no_contents() -> None:
    first, rest = yaml.safe_load((CONFIG / "audit.yaml").read_text())["rules"]
    assert first == {"level": "Metadata", "userGroups": ["system:serviceaccounts"]}
    assert rest == {"level": "None"}
