"""All tests against Kubernetes run on one worker, so that one cluster serves them all."""

import pytest
from xdist.scheduler import LoadScopeScheduling


class _ByModuleOrCluster(LoadScopeScheduling):
    def _split_scope(self, nodeid: str) -> str:
        return "kubernetes" if "/kubernetes/" in nodeid else super()._split_scope(nodeid)


def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> LoadScopeScheduling | None:
    by_module = config.getoption("dist") == "loadscope"
    return _ByModuleOrCluster(config, log) if by_module else None
