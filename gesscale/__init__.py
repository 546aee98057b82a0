"""Gesscale: a network-latency-aware auto-scaler for Spark Structured Streaming on edge clusters.

Monitor -> Analyze -> Plan -> Execute, once per period, over shared Knowledge; ``loop.py`` shows it.
"""
