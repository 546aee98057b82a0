"""Results of programs in JSON with the delays 5 ms from a to b, 9 ms from a to c; d is lost. Made after their docs."""

import json

RIPE = [
    {
        "msm_id": 1,
        "prb_id": 7,
        "src_name": "a",
        "from": "198.51.100.1",
        "type": "ping",
        "dst_name": name,
        "dst_addr": address,
    }
    | {"timestamp": 1_700_000_000, "sent": 3, **rest}
    for name, address, rest in (
        ("b", "192.0.2.2", {"rcvd": 3, "avg": 36.666, "result": [{"rtt": 4}, {"rtt": 5}, {"rtt": 101}]}),
        (
            "c",
            "192.0.2.3",
            {"rcvd": 2, "avg": 9, "result": [{"rtt": 8}, {"x": "*"}, {"rtt": 10}, {"rtt": 99, "dup": 1}]},
        ),
        (
            "d",
            "192.0.2.4",
            {"rcvd": 0, "avg": -1, "min": -1, "max": -1, "result": [{"x": "*"}, {"error": "x"}, {"x": "*"}]},
        ),
    )
]
MTR = [
    {"report": {"mtr": {"src": "a", "dst": name, "tests": 10}, "hubs": [{"host": "gw", "Loss%": 0.0, "Avg": 0.5}, hub]}}
    for name, hub in (
        ("b", {"host": "b", "Loss%": 0.0, "Avg": 5.0}),
        ("c", {"host": "192.0.2.3", "Loss%": 10.0, "Avg": 9.0}),
        ("d", {"host": "???", "Loss%": 100.0, "Avg": 0.0}),
    )
]
CILIUM_HEALTH = {
    "local": {"name": "a"},
    "timestamp": "2024-05-01T10:00:00Z",
    "nodes": [
        {"name": name, "host": {"primary-address": {"ip": "10.0.0.1", "icmp": icmp, "http": {"latency": 350_000}}}}
        for name, icmp in (
            ("a", {"latency": 211_000}),
            ("b", {"latency": 5_000_000}),
            ("c", {"latency": 9_000_000, "status": ""}),
            ("d", {"latency": 0, "status": "Connection timed out"}),
        )
    ],
}


def prometheus(name, series, kind="vector"):
    """Return the answer to a query of Prometheus; a series has labels and a value."""
    point = [1_700_000_000, ""]
    listed = [
        {"metric": {"__name__": name} | labels}
        | (
            {"value": [point[0], value]}
            if kind == "vector"
            else {"values": [[point[0], value], [point[0] + 60, value]]}
        )
        for labels, value in series
    ]
    return {"status": "success", "data": {"resultType": kind, "result": listed}}


VALUES = (("b", "0.005"), ("c", "0.009"), ("d", "NaN"))
PING_EXPORTER = prometheus("ping_rtt_mean_seconds", [({"instance": "a:9427", "target": b}, v) for b, v in VALUES])
PING_EXPORTER_RANGE = prometheus(
    "ping_rtt_mean_seconds", [({"instance": "a:9427", "target": b}, v) for b, v in VALUES], kind="matrix"
)
EXPORTED = prometheus(
    "ping_rtt_seconds",
    [({"source": "scraped", "target": "too", "exported_source": "a", "exported_target": b}, v) for b, v in VALUES],
)
CILIUM_METRIC = prometheus(
    "cilium_node_connectivity_latency_seconds",
    [
        (
            {"source_node_name": "a", "target_node_name": b, "source_cluster": "x", "target_cluster": "x", **labels},
            value,
        )
        for b, v in VALUES
        for labels, value in (
            ({"type": "node", "protocol": "icmp", "address_type": "primary"}, v),
            ({"type": "node", "protocol": "http", "address_type": "primary"}, "0.7"),
            ({"type": "node", "protocol": "icmp", "address_type": "secondary"}, "0.8"),
            ({"type": "endpoint", "protocol": "icmp", "address_type": "primary"}, "0.9"),
        )
    ],
)
LIQO = prometheus(
    "liqo_peer_latency_us",
    [({"instance": "a", "cluster_name": b}, v) for b, v in (("b", "5000"), ("c", "9000"), ("d", "NaN"))],
)
BLACKBOX = prometheus(
    "probe_icmp_duration_seconds",
    [({"instance": b, "phase": phase}, v if phase == "rtt" else "1") for b, v in VALUES for phase in ("setup", "rtt")],
)

PROGRAMS = {
    name: json.dumps(content)
    for name, content in {
        "RIPE Atlas": RIPE,
        "mtr": MTR,
        "cilium-health": CILIUM_HEALTH,
        "ping_exporter": PING_EXPORTER,
        "ping_exporter over time": PING_EXPORTER_RANGE,
        "renamed labels": EXPORTED,
        "Cilium": CILIUM_METRIC,
        "Liqo": LIQO,
        "blackbox": BLACKBOX,
    }.items()
} | {
    "mtr, one after the other": "\n".join(map(json.dumps, MTR)),
    "RIPE Atlas by line": "\n".join(map(json.dumps, RIPE)),
}
#: Lists and graphs.
LISTS = [
    json.dumps(content)
    for content in (
        {"a": {"b": 5, "c": None}, "b": {"a": "7 ms", "c": 9}},
        {"metadata": {"unit": "us", "timestamp": "2024-05-01T00:00:00Z"}, "data": [["a", "b", 5], ["b", "c", 7]]},
        {
            "nodes": [{"id": 0, "name": "a"}, {"id": 1}],
            "directed": 1,
            "links": [{"source": 0, "target": 1, "rtt": {"avg": 5}}],
        },
        [
            {
                "source": "a",
                "target": "b",
                "rtt": 5,
                "unit": "ms",
                "loss": 0.5,
                "status": "ok",
                "timestamp": 1_700_000_000,
            }
        ],
    )
]
