"""Latency maps that are made to take memory: small to send, large to read. Run it with a folder to write them all."""

import gzip
import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

GRAPHML = (
    '<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><key id="d" for="edge" attr.name="latency_ms"'
    ' attr.type="double"/><graph edgedefault="undirected">{}</graph></graphml>'
)
DOCUMENT = '{"apiVersion":"gesscale.dev/v1","kind":"LatencyMap","unit":"ms","delay":"rtt",'


def sparse_edges(nodes):
    """The review's 33 KB: every node once."""
    return "from,to,rtt_ms\n" + "".join(f"{node},{node + 1},1\n" for node in range(0, nodes, 2))


def ring_gml(nodes):
    """The review's 322 KB for 5,000 nodes."""
    listed = "".join(f"node [ id {node} ]\n" for node in range(nodes))
    edges = "".join(
        f"edge [ source {node} target {(node + 1) % nodes} latency 1.5 ]\n" for node in range(nodes)
    )
    return f"graph [\n{listed}{edges}]\n"


def agent_page(pairs):
    """The review's 63 KB for 1,200 pairs: every pair of nodes for itself."""
    return "".join(
        f'gesscale_latency_rtt_seconds{{source="s{pair}",target="t{pair}"}} 1\n' for pair in range(pairs)
    )


def links_bomb(characters):
    """The review's gzipped gigabyte: a list of empty lists that take 64 bytes each."""
    return '{"links":[' + "[]," * (characters // 3) + "[]]}"


def full_mesh_links(nodes):
    return json.dumps(
        [{"from": f"n{a}", "to": f"n{b}", "delay": 1.5} for a in range(nodes) for b in range(a)]
    )


def goldpinger(nodes):
    pods = [f"goldpinger-{node:04}" for node in range(nodes)]
    result = {"OK": True, "PingTime": "2026-11-20T10:00:00Z", "response-time-ms": 14, "status-code": 200}
    return json.dumps(
        {"responses": {pod: {"response": {"podResults": dict.fromkeys(pods, result)}} for pod in pods}}
    )


def dense_edges(nodes):
    return "from,to,rtt_ms\n" + "".join(
        f"n{a},n{b},1.5\n" for a in range(nodes) for b in range(nodes) if a != b
    )


FILES: Mapping[str, Callable[[], str]] = {
    # the four of the review
    "sparse_edges.csv": lambda: sparse_edges(5000),
    "ring.gml": lambda: ring_gml(5000),
    "links_bomb.json": lambda: links_bomb(20_000_000),
    # one line, one row, one piece without an end
    "wide_matrix.csv": lambda: "rtt_ms" + ",ab" * 8_000_000,
    "wide_bare_matrix.txt": lambda: "12 " * 8_000_000,
    "wide_emoji.csv": lambda: "rtt_ms" + ",😀😀" * 3_000_000,
    "quoted_row.csv": lambda: "rtt_ms" + ',"ab\n"' * 4_000_000,
    "wide_pings.csv": lambda: "source,destination,avg" + ",ab" * 8_000_000,
    "one_string.json": lambda: '{"links":["' + "é" * 60_000_000 + '"]}',
    # nodes and pairs without an end
    "names.csv": lambda: "rtt_ms," + ",".join(f"n{node}" for node in range(5000)) + "\n",
    "pings.csv": lambda: "source,destination,min,avg\n" + "a,b,,5\n" * 1_000_000,
    "nodes.p2psim": lambda: "".join(f"node {node}\n" for node in range(1, 5001)) + "1,2 5\n",
    "nodes.json": lambda: json.dumps(
        {"nodes": [str(node) for node in range(5000)], "links": [{"from": "0", "to": "1", "delay": 1}]}
    ),
    "full_mesh.json": lambda: full_mesh_links(500),
    "pods.json": lambda: '{"responses":{' + ",".join(f'"{pod}":{{}}' for pod in range(600_000)) + "}}",
    "goldpinger.json": lambda: goldpinger(500),
    "dense_edges.csv": lambda: dense_edges(700),
    "document_nodes.json": lambda: DOCUMENT + '"nodes":[' + '"ab",' * 3_000_000 + '"a"],"rtt_ms":[]}',
    "document_rows.json": lambda: DOCUMENT + '"nodes":["a"],"rtt_ms":[' + "[]," * 8_000_000 + "[]]}",
    "document_changes.json": lambda: DOCUMENT + '"changes":[' + '"",' * 20_000_000 + '""]}',
    "unknown.json": lambda: '{"x":[' + '{"a":{}},' * 1_000_000 + '0],"links":[]}',
    "deep.json": lambda: '{"links":' + '{"a":' * 30_000_000,
    "replies.ping": lambda: "PING a (10.0.0.2)\n" + "1 bytes from  time=1ms\n" * 2_500_000,
    "replies.fping": lambda: ("a : " + "1 " * 900 + "1\n") * 5000,
    "targets.fping": lambda: "".join(f"{target} : 1\n" for target in range(300_000)),
    # graphs; networkx holds all of each
    "keys.gml": lambda: "graph [" + "".join(f"k{key}[a 1]" for key in range(500_000)) + "]",
    "nodes.gml": lambda: "graph [" + "".join(f"node[id {node}]" for node in range(200_000)) + "]",
    "edges.graphml": lambda: GRAPHML.format('<edge source="a" target="b"/>' * 200_000),
    "elements.graphml": lambda: GRAPHML.format("<a/>" * 2_000_000),
}
"""What each file holds, by its name."""


def write(name, folder):
    """Write one of the files, compressed as whoever means harm would."""
    path = Path(folder, f"{name}.gz")
    path.write_bytes(gzip.compress(FILES[name]().encode(), 1))
    return path


if __name__ == "__main__":
    for each in FILES:
        print(write(each, sys.argv[1]))  # noqa: T201 - a script
