"""``gesscale run --kubernetes`` as a user types it, where it cannot begin."""

import pytest
import yaml


@pytest.fixture
def kubeconfig(tmp_path):
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "pis", "cluster": {"server": "http://127.0.0.1:9"}}],
        "users": [{"name": "me", "user": {"token": "secret"}}],
        "contexts": [{"name": "home", "context": {"cluster": "pis", "user": "me"}}],
        "current-context": "home",
    }
    file = tmp_path / "kubeconfig"
    file.write_text(yaml.safe_dump(content))
    file.chmod(0o600)
    return file


def flat(text):
    return " ".join(text.split())


@pytest.mark.parametrize("extra", [("--config", "x.yaml"), ("--steps", "3")])
def test_its_settings_are_resources_and_nothing_else(gesscale, extra):
    code, _, said = gesscale("run", "--kubernetes", *extra)
    assert code == 2
    assert "expected --kubernetes without --config, --set, --policy, --steps and --output" in flat(said)


def test_the_change_budget_of_a_controller_is_its_own_option(gesscale):
    code, _, said = gesscale("run", "--config", "x.yaml", "--max-changing-operators", "2")
    assert code == 2
    assert "else set plan.max_changing_operators" in flat(said)
    code, _, said = gesscale("run", "--kubernetes", "--max-changing-operators", "0")
    assert code == 2
    assert "greater than or equal to 1" in flat(said)


@pytest.mark.parametrize("place", ["nowhere:port"])
def test_an_address_that_is_none_is_refused(gesscale, kubeconfig, place):
    code, _, said = gesscale("run", "--kubernetes", "--kubeconfig", kubeconfig, "--listen", place)
    assert code == 2
    assert "--listen" in said
