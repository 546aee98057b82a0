import numpy as np
import pytest

from latency_map import LatencyMapError
from latency_map.generate.flaws import drop_pairs, lean
from latency_map.generate.places import Place, great_circle_km, parse_places, random_places, read_places
from latency_map.generate.survey import Flaws, generate, node_names
from latency_map.generate.topologies import Clusters, Span, clustered, geographic, star
from latency_map.generate.triangles import break_triangles
from latency_map.quality.triangles import find_broken_triangles

ACCESS = Span(low_ms=1, high_ms=20)
EUROPE = (36.0, -10.0, 60.0, 30.0)
SITES = Clusters(count=4, within=Span(low_ms=2, high_ms=10), between=Span(low_ms=30, high_ms=150))


def rng(seed=1):
    return np.random.default_rng(seed)


def delays(kind, nodes):
    if kind == "star":
        return star(rng(), nodes, ACCESS)
    if kind == "clustered":
        return clustered(rng(), nodes, SITES)
    return geographic(rng(), random_places(rng(), node_names(nodes), EUROPE), ACCESS)


def broken_ratio(rtt_ms):
    found = find_broken_triangles(rtt_ms, node_names(len(rtt_ms)))
    return found.broken / found.judged


@pytest.mark.parametrize("kind", ["star", "clustered", "geographic"])
def test_generated_delays_are_sound(kind):
    rtt_ms = delays(kind, 12)
    np.testing.assert_array_equal(rtt_ms, rtt_ms.T)
    assert (rtt_ms.diagonal() == 0).all()
    assert (rtt_ms[~np.eye(12, dtype=bool)] > 0).all()
    np.testing.assert_array_equal(rtt_ms, delays(kind, 12))  # the same seed, the same map


def test_a_star_adds_both_access_delays():
    rtt_ms = star(rng(), 3, Span(low_ms=5, high_ms=5))
    np.testing.assert_array_equal(rtt_ms, 10.0 * ~np.eye(3, dtype=bool))
    assert broken_ratio(star(rng(), 20, ACCESS)) == 0


def test_clusters_are_near_inside_and_far_between():
    spread = Clusters(
        count=2, within=Span(low_ms=2, high_ms=4), between=Span(low_ms=50, high_ms=60), noise=0.0
    )
    rtt_ms = clustered(rng(), 5, spread)  # as equal as can be: 3 and 2 nodes
    first, second, between = rtt_ms[0, 1], rtt_ms[3, 4], rtt_ms[0, 3]
    assert 2 <= first <= 4
    assert 2 <= second <= 4
    assert 50 <= between <= 60
    assert rtt_ms[1, 2] == first
    assert (rtt_ms[:3, 3:] == between).all()


def test_the_noise_of_clusters_is_log_normal():
    spread = Clusters(count=1, within=Span(low_ms=10, high_ms=10), between=ACCESS, noise=0.2)
    factors = np.log(clustered(rng(), 200, spread)[np.triu_indices(200, 1)] / 10)
    # 19,900 draws: the standard error of the mean is 0.2 / 141 = 0.0014, of the deviation 0.001
    assert abs(factors.mean()) < 0.006
    assert abs(factors.std() - 0.2) < 0.005


def test_great_circles_are_as_long_as_known_ones():
    quarter = [
        Place(name="pole", latitude_deg=90, longitude_deg=0),
        Place(name="gulf of guinea", latitude_deg=0, longitude_deg=0),
        Place(name="antipode", latitude_deg=0, longitude_deg=180),
    ]
    km = great_circle_km(quarter)
    assert km[0, 1] == pytest.approx(6371 * np.pi / 2)
    assert km[1, 2] == pytest.approx(6371 * np.pi)
    cities = [
        Place(name="Berlin", latitude_deg=52.52, longitude_deg=13.405),
        Place(name="Tokyo", latitude_deg=35.677, longitude_deg=139.65),
    ]
    assert great_circle_km(cities)[0, 1] == pytest.approx(8918, rel=0.005)  # published: 8,918 km


def test_geographic_delays_are_light_in_fibre_there_and_back_with_detours_and_access():
    places = [
        Place(name="a", latitude_deg=0, longitude_deg=0),
        Place(name="b", latitude_deg=0, longitude_deg=10),
    ]
    (there,) = geographic(rng(), places, Span(low_ms=3, high_ms=3), factor=2.0)[0, 1:]
    # 6371 km * 10 degrees = 1111.95 km; twice, over 200 km/ms, times 2; 3 ms at either end
    assert there == pytest.approx(2 * 1111.95 / 200 * 2 + 6, abs=1e-3)


def test_random_places_are_in_their_box():
    south, west, north, east = EUROPE
    for place in random_places(rng(), node_names(200), EUROPE):
        assert south <= place.latitude_deg <= north
        assert west <= place.longitude_deg <= east


@pytest.mark.parametrize("kind", ["star", "clustered", "geographic"])
@pytest.mark.parametrize("ratio", [0.0, 0.02, 0.06, 0.15])
def test_the_share_of_broken_triangles_is_what_was_asked_for(kind, ratio):
    generated = generate(
        rng(), node_names(30), delays(kind, 30), Flaws(broken_triangles_ratio=ratio), origin=""
    )
    # 30 nodes have 12,180 detours: whole ones, so within half of one
    assert generated.triangles.judged == 12_180
    assert generated.broken_triangles_ratio == pytest.approx(ratio, abs=0.51 / 12_180)


def test_breaking_triangles_only_raises_where_none_was_broken():
    rtt_ms = star(rng(), 12, ACCESS)
    broken = break_triangles(rng(), rtt_ms, 0.1)
    np.testing.assert_array_equal(broken, broken.T)
    assert (broken >= rtt_ms - 1e-9).all()
    assert (broken.diagonal() == 0).all()


@pytest.mark.parametrize(("nodes", "ratio"), [(8, 0.3), (2, 0.1), (8, -0.1), (8, 1.5), (8, float("nan"))])
def test_a_share_that_cannot_be_had_is_refused(nodes, ratio):
    with pytest.raises(LatencyMapError, match="broken triangles"):
        break_triangles(rng(), star(rng(), nodes, ACCESS), ratio)


def test_leaning_keeps_the_mean_of_both_directions():
    rtt_ms = star(rng(), 10, ACCESS)
    leaning = lean(rng(), rtt_ms, 0.2)
    np.testing.assert_allclose((leaning + leaning.T) / 2, rtt_ms)
    departs = np.abs(leaning / np.where(rtt_ms > 0, rtt_ms, 1) - 1)[~np.eye(10, dtype=bool)]
    assert 0.15 < departs.max() <= 0.2


def test_pairs_are_forgotten_in_both_directions():
    gaps = np.isnan(drop_pairs(rng(), star(rng(), 10, ACCESS), 0.2))
    assert gaps.sum() == 18  # 9 of 45 pairs, twice
    assert (gaps == gaps.T).all()
    assert not gaps.diagonal().any()


def test_one_flaw_does_not_change_another():
    rtt_ms = star(rng(), 10, ACCESS)

    def made(**flaws):
        return generate(rng(9), node_names(10), rtt_ms, Flaws(**flaws), origin="").survey.rtt_ms

    gaps, with_lean = made(missing_ratio=0.2), made(missing_ratio=0.2, asymmetry_ratio=0.1)
    np.testing.assert_array_equal(np.isnan(gaps), np.isnan(with_lean))
    known = ~np.isnan(with_lean)
    np.testing.assert_array_equal(with_lean[known], made(asymmetry_ratio=0.1)[known])


def test_generated_delays_are_whole_microseconds_and_their_origin_is_kept():
    generated = generate(rng(), node_names(5), delays("geographic", 5), Flaws(), origin="by hand")
    assert generated.survey.origin == "by hand"
    np.testing.assert_array_equal(generated.survey.rtt_ms, np.round(generated.survey.rtt_ms, 3))


def test_names_have_as_many_digits_as_the_last_one_needs():
    assert node_names(2) == ("node-01", "node-02")
    assert node_names(100)[0] == "node-001"


def test_places_are_read_from_csv():
    text = '\ufefflongitude,name,note,latitude\n16.37,Wien,"a, b",48.2\n-0.1, London,,51.5\n'
    assert parse_places(text) == (
        Place(name="Wien", latitude_deg=48.2, longitude_deg=16.37),
        Place(name="London", latitude_deg=51.5, longitude_deg=-0.1),
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "sites.csv, line 1: expected a heading with name, latitude, longitude, got no name"),
        ("name,lat,lon\nx,1,2\n", "sites.csv, line 1: .*got no latitude"),
        ("name,latitude,longitude\nx,1\n", "sites.csv, line 2: .*got '1' and None"),
        ("name,latitude,longitude\nx,north,2\n", "sites.csv, line 2: .*got 'north' and '2'"),
        ("name,latitude,longitude\nx,1,2\ny,91,2\n", "sites.csv, line 3: place 'y': .*got 91 and 2"),
        ("name,latitude,longitude\nx,nan,2\n", "sites.csv, line 2: place 'x'"),
        ('name,latitude,longitude\n"x\x00,1,2\n', "sites.csv, line 2"),
    ],
)
def test_a_table_of_places_that_cannot_be_used_names_the_line(text, message):
    with pytest.raises(LatencyMapError, match=message):
        parse_places(text, "sites.csv")


def test_a_file_of_places_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(LatencyMapError, match=r"nowhere\.csv"):
        read_places(tmp_path / "nowhere.csv")


@pytest.mark.parametrize(
    "make",
    [
        lambda: Span(low_ms=2, high_ms=1),
        lambda: Span(low_ms=-1, high_ms=1),
        lambda: Span(low_ms=0, high_ms=float("inf")),
        lambda: clustered(rng(), 3, SITES),
        lambda: clustered(rng(), 9, Clusters(count=2, within=ACCESS, between=ACCESS, noise=-1)),
        lambda: geographic(rng(), [], ACCESS, factor=0.9),
        lambda: random_places(rng(), ["a"], (10, 0, 5, 1)),
        lambda: random_places(rng(), ["a"], (0, 170, 5, 190)),
        lambda: lean(rng(), np.zeros((2, 2)), 1.0),
        lambda: drop_pairs(rng(), np.zeros((2, 2)), 1.1),
    ],
)
def test_what_cannot_be_generated_is_refused(make):
    with pytest.raises(LatencyMapError, match="expected"):
        make()
