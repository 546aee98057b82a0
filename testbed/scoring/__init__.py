"""How good a run was: the paper's seven metrics and those it lacks, from a series; the frontier of what is possible."""
