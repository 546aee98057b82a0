set -eu
PATH=$PATH:/usr/sbin:/sbin
set -- {names}
node=$1 device=$2 address=$3
timer=/run/gesscale-delays-$node-$device.pid

log() {{ printf '%s\n' "gesscale: $node: $*" >&2; }}

remove_delays() {{ {undo}; }}

# Owner of the root qdisc of the device, by its handle: 0: is the default of the kernel, which it restores
# when another one is removed; {root} is that of gesscale; any other belongs to another program.
owner() {{
  present=$(tc qdisc show dev "$device" root) || {{ echo unknown; return; }}
  case $present in
    "" | "qdisc "*" 0: root"*) echo kernel ;;
    "qdisc htb {root} root"*) echo gesscale ;;
    *) echo other ;;
  esac
}}

cancel_timer() {{
  [ -f "$timer" ] || return 0
  pid=$(cat "$timer")
  if grep -q gesscale-timer "/proc/$pid/cmdline" 2>/dev/null; then kill -TERM "-$pid" || :; fi
  rm -f "$timer" "$timer.log"
}}
