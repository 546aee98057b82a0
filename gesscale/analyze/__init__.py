"""Pure functions of analysis that policies share: readiness, load and capacity."""
