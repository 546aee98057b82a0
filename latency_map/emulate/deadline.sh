  # Removed after {seconds} s, even if this connection is lost.
  command -v setsid >/dev/null || {{ log "setsid not found, which the timer needs; install util-linux"; exit 1; }}
  : >"$timer"
  # The timer writes its process id, in a new session; $() waits until it closes its output.
  : "$(setsid sh -c 'timer=$1 seconds=$2; shift 2; echo $$ >"$timer"; exec >&2; sleep "$seconds"
    for try in 1 2 3 4 5 6; do "$@" && exec rm -f "$timer" "$timer.log"; sleep 5; done' \
    gesscale-timer "$timer" {arguments} </dev/null 2>"$timer.log" &)"
  [ -s "$timer" ] || {{ log "the timer that removes the delays did not start: $(cat "$timer.log")"; exit 1; }}
