"""Round trips measured on the network: probes, what several of them say together, agents."""
