"""Delays made on purpose: the tc commands that give real links the round trips of a map.

`tc_plan` gives every node what to add to its outgoing packets, `render_script` writes it as a shell script.
"""

DEVICE = "eth0"
"""The network device of a host, where nobody says otherwise."""
