"""Emulation of delays: tc commands that give real links the round trips of a map.

`plan_emulation` computes the delay that each node adds to its outgoing packets; `render_script` writes it as a shell
script.
"""

#: Default network device of a host.
DEVICE = "eth0"
