"""What the controller tells of an operator: the status of its resource, and the events worth a line."""
