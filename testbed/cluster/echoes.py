"""Round trips from within a node of the cluster: ``python -m testbed.cluster.echoes COUNT TIMEOUT_S ADDRESS...``.

Writes a line of JSON for each echo: its address, and its ``rtt_ms``, which is null where no reply came.
"""

import json
import os
import sys
import time

from latency_map.measure.probes import Reply, ping_rtt_ms

_PAUSE_S = 0.02


def main(count: str, timeout_s: str, *addresses: str) -> None:
    """Ask each address once a round, one echo at a time."""
    for number in range(int(count)):
        for place, address in enumerate(addresses):
            sequence = (os.getpid() + number * len(addresses) + place) % (1 << 16)
            answer = ping_rtt_ms(address, timeout_s=float(timeout_s), sequence=sequence)
            rtt_ms = answer.rtt_ms if isinstance(answer, Reply) else None
            sys.stdout.write(json.dumps({"address": address, "rtt_ms": rtt_ms}) + "\n")
        time.sleep(_PAUSE_S)


if __name__ == "__main__":
    main(*sys.argv[1:])
