"""Views that are too old for decisions."""

import pytest

from gesscale.common.errors import Problem
from gesscale.kubernetes.api.watch_cache import View
from gesscale.kubernetes.placement.applications import ClusterIndex
from gesscale.kubernetes.placement.watches import ClusterView


def view(**changes):
    views = {kind: View(objects={}, listed=True) for kind in ("nodes", "pods", "resources")}
    return ClusterView(at_s=100.0, index=ClusterIndex({}, {}), **{**views, **changes})


@pytest.mark.parametrize(("since_s", "is_old"), [(70.0, False), (69.9, True), (200.0, False)])
def test_a_view_is_too_old_after_half_a_minute(since_s, is_old):
    stale = View(objects={}, listed=True, stale_since_s=since_s, problem=Problem("watch-not-started"))
    assert (view(pods=stale).problem is not None) is is_old
