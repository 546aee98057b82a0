"""The StreamAutoscaler: its definition, its values, and what they say to the loop."""
