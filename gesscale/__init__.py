"""Gesscale: a network-latency-aware auto-scaler for Spark Structured Streaming on edge clusters.

It runs Monitor, Analyze, Plan and Execute once per period over shared Knowledge; see ``loop.py``.
"""
