"""The names of the package are imported when they are asked for; the agent asks for none."""

import pytest

import latency_map


@pytest.mark.parametrize("name", latency_map.__all__)
def test_a_public_name_is_imported_when_it_is_asked_for(name):
    assert getattr(latency_map, name) is not None
