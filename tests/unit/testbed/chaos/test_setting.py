"""What can be played together."""

import pytest

from gesscale.errors import InputError
from testbed.chaos.plan import KUBERNETES_FAULTS, LOCAL_FAULTS, Fault
from testbed.chaos.setting import ChaosSetting


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"query": "q7"}, "expected a query of rides, q1, q5, got 'q7'"),
        ({"kafka": True}, "does not read Kafka"),
        ({"faults": ()}, "a fault at least"),
        ({"rows_per_s": 455}, "expected at most 454 rows/s"),  # 1000 ms / 2.2 ms a row
        ({"rows_per_s": 501, "query": "q1"}, "expected at most 500 rows/s"),  # 1000 ms / 2 ms an event
        ({"faults": (Fault.BROKER_KILLED,)}, "it needs --kafka"),
        ({"faults": (Fault.KUBELET_KILLED,)}, "kubelet-killed cannot strike here"),
        ({"kubernetes": True}, "cannot strike here"),
        (
            {"kubernetes": True, "faults": KUBERNETES_FAULTS, "query": "q5", "kafka": True},
            "leave --kafka out",
        ),
        ({"kubernetes": True, "faults": (Fault.BROKER_KILLED,)}, "broker-killed cannot strike here$"),
    ],
)
def test_what_does_not_go_together_is_refused(given: dict[str, object], said: str) -> None:
    with pytest.raises(InputError, match=said):
        ChaosSetting(seed=1, **given)  # type: ignore[arg-type] # fields of the setting


def test_a_broker_may_be_killed_where_there_is_one() -> None:
    setting = ChaosSetting(seed=1, query="q5", kafka=True, faults=(Fault.BROKER_KILLED, Fault.NONE))
    assert setting.scenario.operators[0].name == "q5"


def test_a_driver_may_be_killed_on_both_clusters() -> None:
    assert {Fault.DRIVER_KILLED} <= {*LOCAL_FAULTS} & {*KUBERNETES_FAULTS}
