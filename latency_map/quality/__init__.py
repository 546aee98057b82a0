"""How far a survey can be trusted, and what can be done about it: checks and repairs."""
