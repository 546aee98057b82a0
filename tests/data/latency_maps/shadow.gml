graph [
  directed 0
  node [
    id 0
    label "amsterdam"
    host_bandwidth_down "100 Mbit"
    host_bandwidth_up "100 Mbit"
  ]
  node [
    id 1
    label "berlin"
  ]
  node [
    id 2
    label "cairo"
  ]
  node [
    id 3
    label "dakar"
  ]
  edge [
    source 0
    target 0
    latency "1 ms"
    packet_loss 0.0
  ]
  edge [
    source 0
    target 1
    latency "10 ms"
    jitter "0 ms"
    packet_loss 0.0
  ]
  edge [
    source 1
    target 2
    latency "2500 us"
    packet_loss 0.01
  ]
  edge [
    source 0
    target 2
    latency "20 ms"
    packet_loss 0.0
  ]
]
