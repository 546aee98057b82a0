"""The generated pages of the reference are what their generators write."""

from pathlib import Path

from prometheus_page import prometheus_page

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"


def test_the_page_of_metrics_is_that_of_the_collectors():
    page = (REFERENCE / "prometheus.md").read_text("utf-8")
    assert page == prometheus_page(), "python tests/prometheus_page.py > docs/reference/prometheus.md"
