"""Files of other programs that have no delays between nodes in a form that is read, named in the refusal."""

import re

from latency_map.formats.json_text import Json
from latency_map.formats.source import MapSource

#: Element at the root of XML.
_ROOTS = {"experiment": "a topology of Kollaps in XML", "html": "a page in HTML"}
_ROOT = re.compile(r"<(?:\w{1,40}:)?([A-Za-z][\w.-]{0,60})")
#: Keys at the root of JSON that occur together.
_KEYS = (
    ({"hosts", "switches", "controllers"}, "a topology of MiniEdit"),
    ({"entity", "link"}, "a topology of YAFS"),
    ({"BackendState", "Peer"}, "the status of Tailscale"),
    ({"responses"}, "results of Goldpinger, whose delays are those of HTTP"),
    ({"results", "target", "type"}, "results of Globalping"),
    ({"items", "kind"}, "a list of Kubernetes objects"),
)
_TEXTS = (
    (r"pong from \S+ ", "the output of tailscale ping; use ping"),
    (r"(?:traceroute6? to|Tracing route to) ", "the output of traceroute, which has delays to routers; use ping"),
    (r"(?:Start: .*\nHOST: |Mtr_Version,)", "a report of mtr as text or CSV; use mtr --json"),
    (r".{0,60}\b(?:\d+ bytes from|PING) ", "a part of ping, or times before its lines; use its output as it is"),
    (r"(?:Starting Nping|Probing \S+:\d|Connecting to \S+ on |seq \d+: tcp )", "nping or tcping; use ping"),
    (r"# (?:HELP|TYPE) ", "a page of metrics; use the answer of Prometheus to a query"),
    (r"(?:strict )?(?:di)?graph \S* ?\{", "a graph in the language of Graphviz; convert it to GML"),
    (r"\w?\x00", "text in UTF-16 without its mark"),
    (r"(?:---\s*\n)?[^\s,;|]+:[ \t]*\n[ ]*(?:- |[^\s,;|]+:)", "YAML; convert it to JSON"),
)


def looks_like(source: MapSource) -> str:
    """Return what a text looks like, "" if it is nothing known."""
    head = source.text[:4000].lstrip()
    if head.startswith("<"):
        root = _ROOT.search(re.sub(r"<!--.*?-->|<[?!][^>]*>", "", head, flags=re.DOTALL))
        return _ROOTS.get(root[1], f"XML with the element {root[1]}") if root else ""
    return next((name for pattern, name in _TEXTS if re.match(pattern, head)), "")


def json_looks_like(content: Json) -> str:
    """Return what JSON looks like, "" if it is nothing known."""
    first = content[0] if isinstance(content, list) and content else content
    keys = first.keys() if isinstance(first, dict) else set()
    return next((name for known, name in _KEYS if known <= keys), "")
