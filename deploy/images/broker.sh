#!/bin/bash
# A single Kafka node that is its own controller: formats its storage once, then runs.
#   broker.sh SERVER.PROPERTIES
set -eu
run=(java ${KAFKA_HEAP:--Xmx256m} -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -cp '/opt/kafka/*')
data=$(sed -n 's/^log.dirs=//p' "$1")
if [ ! -f "$data/meta.properties" ]; then
  "${run[@]}" kafka.tools.StorageTool format -t "$("${run[@]}" kafka.tools.StorageTool random-uuid)" -c "$1"
fi
exec "${run[@]}" kafka.Kafka "$1"
