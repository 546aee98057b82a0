"""Names of the package are imported on first use; the agent imports none."""

import pytest

import latency_map


@pytest.mark.parametrize("name", latency_map.__all__)
def test_a_public_name_is_imported_when_it_is_asked_for(name):
    assert getattr(latency_map, name) is not None
