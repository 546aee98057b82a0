"""The StreamAutoscaler: its definition, its values, and their translation for the loop."""
