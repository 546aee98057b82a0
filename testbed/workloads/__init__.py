"""Offered loads: recorded days, patterns of published papers, and files of users."""
