"""Status and events of a StreamAutoscaler, from the results of a step."""
