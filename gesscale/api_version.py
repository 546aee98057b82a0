"""The version of the documents that gesscale writes and serves."""

API_VERSION = "gesscale.dev/v1"
