"""Offered load as data: recorded days, the patterns of the field's papers, and files of users."""
