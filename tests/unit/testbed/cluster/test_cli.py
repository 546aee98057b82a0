"""The command line's answers where no cluster is touched."""

from collections.abc import Callable

import pytest
from refusals import refused

from testbed.cluster.adapter import open_local_cluster


@pytest.mark.parametrize("arguments", [("up", "nowhere"), ("up", "edge8", "--delays", "snail"), ("fly",)])
def test_wrong_input_exits_2_without_a_traceback(
    gesscale: Callable[..., tuple[int, str, str]], arguments: tuple[str, ...]
) -> None:
    code, out, message = gesscale("testbed", *arguments)
    assert (code, out) == (2, "")
    assert message.strip()


def test_an_unknown_option_of_the_local_cluster_is_refused() -> None:
    with refused("cluster-option-unknown", unknown=["topologie"]):
        open_local_cluster({"topologie": "edge8"})
