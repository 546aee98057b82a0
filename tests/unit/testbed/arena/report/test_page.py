from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from arena_results import POLICIES, WORKLOADS, an_experiment, made_results

from gesscale.errors import InputError
from testbed.arena.case import LATENCIES
from testbed.arena.report import figures
from testbed.arena.report.page import write_report

EVIL = "<script>alert(1)</script>"


class Elements(HTMLParser):
    """Collects the elements of a page."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.ids, self.links = Counter(), Counter(), []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags[tag] += 1
        for name, value in attrs:
            if name == "id":
                self.ids[value] += 1
            if name in {"href", "src", "xlink:href", "srcset", "data", "action"}:
                self.links.append(value)

    def handle_data(self, data):
        self.text += data


@pytest.fixture(scope="module")
def experiment():
    return an_experiment(POLICIES[:2])


@pytest.fixture(scope="module")
def results(experiment):
    return made_results(experiment)


@pytest.fixture(scope="module")
def page(experiment, results, tmp_path_factory):
    file = tmp_path_factory.mktemp("report") / "report.html"
    write_report(experiment, results, file)
    return file.read_text("utf-8")


@pytest.fixture
def blank(monkeypatch):
    """Replace the pictures, which take most of the time."""
    monkeypatch.setattr(figures, "_drawn", lambda *_: figures.Drawing("data:,", 1))


def written(experiment, results, tmp_path, **options):
    write_report(experiment, results, tmp_path / "report.html", **options)
    return (tmp_path / "report.html").read_text("utf-8")


@pytest.mark.usefixtures("blank")
def test_a_workload_shows_the_latencies_of_its_rows(experiment, results, tmp_path):
    quantiles_s = tuple(float(percent) for percent in range(101))
    known = [replace(each, series={**each.series, LATENCIES: quantiles_s}) for each in results]
    before, after = (Elements(written(experiment, found, tmp_path)).tags["img"] for found in (results, known))
    assert after == before + len(experiment.workloads)


def test_the_page_is_self_contained(page):
    links = Elements(page).links
    assert [link for link in links if not link.startswith(("#", "data:"))] == []
    assert "default-src &#39;none&#39;" in page or "default-src 'none'" in page
    assert "@import" not in page


def test_ids_are_distinct_and_links_resolve(page):
    elements = Elements(page)
    assert [name for name, times in elements.ids.items() if times > 1] == []
    assert {link[1:] for link in elements.links if link.startswith("#")} - set(elements.ids) == set()


def test_the_tables_of_the_league_show_cost_with_changes_first(page):
    ids = list(Elements(page).ids)
    league = ["league", "league-without-changes", "league-side-effects"]
    assert sorted(league, key=ids.index) == league


def test_every_policy_and_workload_has_its_figures(experiment, page):
    # cost against lag; per workload a trajectory for each of the two policies
    assert Elements(page).tags["img"] == 1 + len(experiment.workloads) * 2


@pytest.mark.usefixtures("blank")
def test_text_of_results_is_never_markup(tmp_path):
    policies = (POLICIES[0], f"{EVIL}.py:$x_")
    experiment = an_experiment(policies, WORKLOADS[:1], title=EVIL)
    evil = [
        replace(result, lost=f"ValueError: {EVIL}", metrics={}, series={}) if result.case.seed == 2 else result
        for result in made_results(experiment)
    ]
    elements = Elements(written(experiment, evil, tmp_path))
    assert elements.tags["script"] == 1  # the script of the page
    assert elements.tags["style"] == 1
    assert f"ValueError: {EVIL}" in elements.text
    assert f"{EVIL}.py:$x_" in elements.text


@pytest.mark.usefixtures("blank")
def test_incomplete_results_are_shown(experiment, results, tmp_path):
    # 2 policies, 2 workloads, 3 seeds: 12 cases; seeds 0 and 1 of the first workload are 4 of them
    done = [result for result in results if result.case.workload == WORKLOADS[0] and result.case.seed < 2]
    elements = Elements(written(experiment, done, tmp_path))
    assert "4, none lost; 8 runs missing" in elements.text
    assert "w0" in elements.ids
    assert "w1" not in elements.ids


@pytest.mark.usefixtures("blank")
def test_missing_data_of_a_policy_is_reported(experiment, results, tmp_path):
    def changed(**how):
        return [replace(each, **how) if each.case.policy == POLICIES[1] else each for each in results]

    assert f": {POLICIES[1]}.</p>" in written(experiment, changed(series={}), tmp_path)
    text = Elements(written(experiment, changed(lost="it slept", metrics={}, series={}), tmp_path)).text
    assert "3 runs, 3 lost" in text
    assert "6 lost runs" in text
    lost = [replace(result, lost="no", metrics={}, series={}) for result in results]
    assert "12 lost runs" in written(experiment, lost, tmp_path)


def test_a_report_that_cannot_be_written_is_rejected(experiment, results, tmp_path):
    for given, file, baseline in (
        (results, "report.html", "nobody"),
        ([], "report.html", None),
        (results[:1], "nowhere/report.html", None),
    ):
        with pytest.raises(InputError):
            write_report(experiment, given, tmp_path / file, baseline=baseline)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("blank")
def test_files_have_short_names_without_paths(tmp_path):
    load, own = "/home/someone/loads/mine.csv", "/home/someone/mine.py:Mine"
    experiment = an_experiment((*POLICIES[:2], own), (load,), title="")
    file = tmp_path / "report.html"
    write_report(experiment, made_results(experiment), file, baseline=own)
    settings, _, rest = file.read_text("utf-8").partition("</pre>")
    before = settings.partition("<pre>")[0]
    assert "<h1>3 policies on mine.csv</h1>" in before
    assert "ratios to <strong>mine.py:Mine</strong>" in before
    assert "/home/someone" not in before + rest
    assert load in settings  # the experiment file has the whole path
