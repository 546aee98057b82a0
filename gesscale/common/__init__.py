"""Shared code of the driver, the controller and the latency map: errors, text, YAML, an HTTP client and server.

Imports no other part of the project. Only `yaml_text` and `http_client` need a package beyond the standard library.
"""

#: The version of the documents that are written and served.
API_VERSION = "gesscale.dev/v1"
