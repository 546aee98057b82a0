"""What a map from outside may take of memory: at most 64 MB beyond the arrays that a map of its nodes is held in.

Every input here took more than that before there were limits.
"""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import hostile_maps
import pytest
from hostile_maps import FILES, agent_page, ring_gml, sparse_edges, write

SCRIPT = Path(hostile_maps.__file__).with_name("read_hostile.py")
MOST_BYTES = 64_000_000
LIMIT = "(limit: gesscale latency-map --max-nodes), got "
TOO_MANY = f"expected at most 1000 nodes {LIMIT}"


@dataclass(frozen=True, kw_only=True)
class Took:
    took_bytes: int
    nodes: int
    spread: bool
    said: str

    @property
    def needed_bytes(self):
        """Of each pair of nodes: a round trip (8 bytes) and a mark (1) in the survey, three figures (8 each) in a
        spread if there is one, and a round trip (8) in the map."""
        return (8 + 1 + 3 * 8 * self.spread + 8) * self.nodes**2


@pytest.fixture(scope="module")
def reader():
    """What starts a process for every map; it has one thread, as a fork has."""
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    command = (sys.executable, str(SCRIPT))
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        yield process
        process.kill()


@pytest.fixture
def read(reader):
    """Read a map in a process of its own, and judge what it took."""

    def read(way, what, nodes=1000):
        reader.stdin.write(json.dumps([way, str(what), nodes]) + "\n")
        reader.stdin.flush()
        report = json.loads(reader.stdout.readline())
        assert "died" not in report, report
        took = Took(**report)
        assert took.took_bytes - took.needed_bytes <= MOST_BYTES, took
        assert "\n" not in took.said
        return took

    return read


SOUND = {"full_mesh.json": 500, "goldpinger.json": 500, "dense_edges.csv": 700, "pings.csv": 2}
"""Files that are only large, and how many nodes they have; all others are refused."""

REFUSED = {
    "sparse_edges.csv": f"line 502, column 1: {TOO_MANY}more; give fewer, or raise that limit",
    "ring.gml": f"{TOO_MANY}5000",
    "names.csv": f"line 1, column 1002: {TOO_MANY}5000",
    "nodes.json": f"{TOO_MANY}more",
    "nodes.p2psim": f"line 1001, column 1: {TOO_MANY}more",
    "pods.json": f"{TOO_MANY}more",
    "targets.fping": f"{TOO_MANY}more",
    "document_nodes.json": f"nodes: {TOO_MANY}more",
    "wide_matrix.csv": f"line 1: expected at most 264160 characters in a line, as 1000 nodes need {LIMIT}more",
    "quoted_row.csv": f"expected at most 264160 characters in a row, as 1000 nodes need {LIMIT}more",
    "one_string.json": f"expected at most 129536 characters in a piece of JSON, as 1000 nodes need {LIMIT}more",
    "keys.gml": f"expected at most 1048576 characters of text in this form, as 1000 nodes need {LIMIT}more",
    "replies.fping": "expected at most 2000000 replies, got more",
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_takes_no_more_than_its_map_needs(read, name, tmp_path):
    took = read("file", write(name, tmp_path))
    assert took.nodes == SOUND.get(name, 0)
    assert bool(took.said) == (name not in SOUND)
    assert REFUSED.get(name, "") in took.said


@pytest.mark.parametrize("name", ["sparse_edges.csv", "ring.gml"])
def test_a_map_of_as_many_nodes_as_any_may_have_takes_no_more_either(read, name, tmp_path):
    assert read("file", write(name, tmp_path), nodes=5000).nodes == 5000


@pytest.mark.parametrize(
    ("name", "line", "said"),
    [
        ("names.txt", "a node\n", "line 5001: expected at most 5000 names, got more"),
        ("servers.csv", "{},a server\n", "line 5002: expected at most 5000 names, got more"),
    ],
)
def test_files_beside_a_map_take_little(read, tmp_path, name, line, said):
    (tmp_path / name).write_text("id,name\n" + "".join(line.format(number) for number in range(2_000_000)))
    assert said in read("beside", tmp_path / name).said


def test_samples_take_no_more_than_their_map_needs(read):
    assert f"agents: {TOO_MANY}more; give fewer" in read("samples", "pairs apart").said
    assert TOO_MANY in read("samples", "nodes without an end").said
    assert "expected at most 4064 agents in one answer" in read("samples", "agents without an end").said
    assert "expected at most 200000 pairs in one answer" in read("samples", "claims without an end").said


def test_samples_of_nodes_that_the_cluster_does_not_have_take_nothing(read):
    took = read("samples of a cluster", "nodes without an end", nodes=10)
    assert took.nodes == 9  # all but b, which no sample names


@pytest.mark.parametrize("text", [sparse_edges(5000), ring_gml(5000)], ids=["edges", "ring"])
def test_a_config_map_is_bounded_by_the_nodes_of_the_cluster(read, tmp_path, text):
    (tmp_path / "map").write_text(text)
    for nodes, most in ((3, 16), (500, 1000)):
        said = read("config map", tmp_path / "map", nodes).said
        assert "(limit: twice the nodes of the cluster, at least 16), got " in said
        assert f"{most} nodes" in said


def serve_agents(httpserver, page, count, tmp_path):
    """Serve a page at the addresses of so many agents; return the file that lists these."""
    for agent in range(count):
        httpserver.expect_request(f"/{agent}/metrics").respond_with_data(page)
    (tmp_path / "urls").write_text("\n".join(httpserver.url_for(f"/{agent}") for agent in range(count)))
    return tmp_path / "urls"


FIGURE = 'gesscale_latency_rtt_seconds{{source="a",target="b",of="{}"}} 1\n'


def test_long_pages_of_agents_are_not_read(read, httpserver, tmp_path):
    urls = serve_agents(httpserver, FIGURE.format(1) * 120_000, 8, tmp_path)
    assert "it answered more than 1601536 bytes" in read("agents", urls).said


def test_pages_of_agents_as_long_as_they_may_be_are_read_a_few_at_a_time(read, httpserver, tmp_path):
    page = "".join(FIGURE.format(number) for number in range(26_000))  # 1.6 MB, and 26,000 claims of one pair
    urls = serve_agents(httpserver, page, 40, tmp_path)
    read("agents", urls)


def test_a_page_of_too_many_nodes_takes_nothing(read, httpserver, tmp_path):
    urls = serve_agents(httpserver, agent_page(1200), 1, tmp_path)
    assert f"agents: {TOO_MANY}more" in read("agents", urls).said


def answer(element, size_bytes):
    """Answer as Prometheus does with so many bytes of the same element, but for its numbers."""
    text, elements = 0, []
    while text < size_bytes:
        elements.append(element(len(elements)))
        text += len(elements[-1]) + 1
    return f'{{"status":"success","data":{{"resultType":"vector","result":[{",".join(elements)}]}}}}'


def series(number):
    """The round trip of one pair of 113 * 112 and when it was measured, in turn, as Prometheus writes them."""
    pair, when = divmod(number, 2)
    source, other = divmod(pair % (113 * 112), 112)
    name = "measured_timestamp_seconds" if when else "rtt_seconds"
    labels = {
        "__name__": f"gesscale_latency_{name}",
        "instance": f"10.42.{source}.3:9476",
        "source": f"node-{source}",
        "target": f"node-{(source + other + 1) % 113}",
    }
    return json.dumps({"metric": labels, "value": [1.0, "0.001"]}, separators=(",", ":"))


def many_labels(number):
    return json.dumps({"metric": {f"{number}-{label}": "" for label in range(20)}, "value": [1, "1"]})


REFUSED_PARTS = "it answered more than 125000 JSON objects and lists"


@pytest.mark.parametrize(
    ("element", "size_bytes", "nodes", "said"),
    [
        (series, 4_200_000, 113, ""),
        (many_labels, 4_900_000, 0, "expected round trips"),
        (lambda _: '{"metric":{},"value":[1,"1"]}', 4_900_000, 0, REFUSED_PARTS),
        (lambda _: "{}", 4_900_000, 0, REFUSED_PARTS),
        (lambda _: "[]", 300_000, 0, "is no vector or matrix"),
        (lambda _: '{"metric":{},"value":[1,"1"]}', 5_100_000, 0, "it answered more than 5000000 bytes"),
    ],
    ids=["a map", "labels", "short series", "objects", "lists", "too long"],
)
def test_answers_of_prometheus_take_no_more_than_their_map_needs(
    read, httpserver, element, size_bytes, nodes, said
):
    httpserver.expect_request("/api/v1/query").respond_with_data(answer(element, size_bytes))
    took = read("prometheus", httpserver.url_for("/"))
    assert (took.nodes, said in took.said) == (nodes, True), took.said
