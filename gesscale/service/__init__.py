"""Serves metrics, a read-only API of decisions, and the page that shows them."""
