main() {{
  whose=$(owner)
  if [ "$whose" = unknown ]; then log "cannot read the qdisc of $device, see above; nothing was changed"; exit 1; fi
  if [ "$whose" = other ]; then
    log "expected no qdisc of another program on $device, got: $(tc qdisc show dev "$device" root)"
    log "nothing was changed; if it is not needed, remove it first: tc qdisc del dev $device root"
    exit 1
  fi
  cancel_timer
  if [ "$(owner)" = gesscale ]; then remove_delays; fi  # read again: the timer may just have removed them
  trap 'give_up $?' EXIT
  trap 'exit 1' HUP INT TERM
{deadline}  {root}
{delays}
  trap - EXIT HUP INT TERM
  log "delays to {count} nodes are set on $device{until}"
}}

give_up() {{
  whose=$(owner)
  if [ "$whose" = gesscale ]; then remove_delays; fi
  cancel_timer
  log "a command failed, see above; no delays are left on $device. If tc reports an unknown kind of qdisc, the kernel"
  log "lacks sch_netem, sch_htb or cls_u32: install its extra modules (linux-modules-extra, kmod-sched-core, ...)"
  exit "$1"
}}

main
