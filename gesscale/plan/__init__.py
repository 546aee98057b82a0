"""Pure functions of planning: adding and removing replicas, safeguards, directives, settling."""
