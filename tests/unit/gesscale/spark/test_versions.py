import pytest

from gesscale.spark.versions import acting_problem, attach_problem


@pytest.mark.parametrize("version", ["3.5.0", "3.5.9", "4.0.5", "4.3.0", "4.3.0.dev1", "", "unknown"])
def test_a_version_that_was_run_is_no_problem(version):
    assert attach_problem(version) is None


@pytest.mark.parametrize("version", ["2.4.8", "3.4.4", "4.4.0", "4.10.0"])
def test_another_version_is_warned_of(version):
    problem = attach_problem(version)
    assert problem is not None
    assert (problem.code, problem.fields["version"]) == ("spark-version-untried", version)


@pytest.mark.parametrize(("version", "acts"), [("3.5.9", False), ("4.2.1", False), ("4.3.0", True), ("4.10.0", True)])
def test_acting_needs_a_version_that_has_placed_real_pods(version, acts):
    problem = acting_problem(version)
    assert (problem is None) is acts
    assert problem is None or problem.code == "spark-version-advice-only"
