main() {
  cancel_timer
  whose=$(owner)
  case $whose in
    gesscale) remove_delays; log "delays are removed from $device" ;;
    kernel) log "no delays were set on $device" ;;
    unknown) log "cannot read the qdisc of $device, see above"; exit 1 ;;
    other) log "not changed, the qdisc is of another program: $(tc qdisc show dev "$device" root)" ;;
  esac
}

main
