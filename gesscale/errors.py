"""The errors that gesscale raises on purpose.

    GesscaleError                 anything below; a command exits 1 on it
    ├── InputError                a file, option or value that the user can repair; exit 2
    │   ├── SettingsError         a settings file, variable or option
    │   └── LatencyMapError       a latency map (latency_map.errors)
    ├── KnowledgeError            the knowledge file cannot be used
    ├── MetricsUnavailableError   a metric source gave no usable answer
    └── ClusterError              nodes or replicas could not be read or changed

Each error has a code and fields; `errors.toml` has its message. See `gesscale.common.errors`.
"Not ready yet" and "nothing to do" are decisions with a reason, not errors.
"""

from gesscale.common.errors import GesscaleError, InputError

__all__ = ["ClusterError", "GesscaleError", "InputError", "KnowledgeError", "MetricsUnavailableError", "SettingsError"]


class SettingsError(InputError):
    """A settings file, environment variable or option is wrong."""


class KnowledgeError(GesscaleError):
    """The knowledge file cannot be opened, read or written."""


class MetricsUnavailableError(GesscaleError):
    """A metric source timed out, is unreachable, or returned invalid metrics."""


class ClusterError(GesscaleError):
    """Nodes or replicas could not be read or changed."""
