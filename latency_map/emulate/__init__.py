"""Delays made on purpose: the tc commands that give real links the round trips of a map.

`plan_emulation` gives every node what to add to its outgoing packets, `render_script` writes it as a shell script.
"""

#: The network device of a host, where nobody says otherwise.
DEVICE = "eth0"
