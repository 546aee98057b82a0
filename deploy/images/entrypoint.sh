#!/bin/bash
# Entry point of Spark on Kubernetes: "executor" or "driver" as first argument, with settings in SPARK_... variables. Any
# other command is run unchanged.
set -eu
conf=${SPARK_CONF_DIR:-$SPARK_HOME/conf}
case ${1:-} in
  executor)
    # Spark numbers its Java options: SPARK_JAVA_OPT_0, SPARK_JAVA_OPT_1 ...; values may have spaces.
    options=()
    for ((i = 0; ; i++)); do
      name=SPARK_JAVA_OPT_$i
      [ -n "${!name+set}" ] || break
      options+=("${!name}")
    done
    # GESSCALE_SLOTS, such as "nuc1=8 pi4a=2", gives the executors of some nodes other numbers of slots.
    for each in ${GESSCALE_SLOTS:-}; do
      [ "${each%%=*}" != "${SPARK_EXECUTOR_ATTRIBUTE_NODE:-}" ] || SPARK_EXECUTOR_CORES=${each#*=}
    done
    case $SPARK_EXECUTOR_CORES in
      '' | *[!0-9]* | 0*) echo "GESSCALE_SLOTS: expected NODE=SLOTS, each a number from 1 on: $GESSCALE_SLOTS" >&2; exit 64 ;;
    esac
    exec java "${options[@]}" "-Xms$SPARK_EXECUTOR_MEMORY" "-Xmx$SPARK_EXECUTOR_MEMORY" \
      -cp "$conf:${SPARK_CLASSPATH:-}:$SPARK_HOME/jars/*:${SPARK_EXTRA_CLASSPATH:-}" \
      org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend \
      --driver-url "$SPARK_DRIVER_URL" --executor-id "$SPARK_EXECUTOR_ID" --cores "$SPARK_EXECUTOR_CORES" \
      --app-id "$SPARK_APPLICATION_ID" --hostname "$SPARK_EXECUTOR_POD_IP" \
      --resourceProfileId "$SPARK_RESOURCE_PROFILE_ID" --podName "$SPARK_EXECUTOR_POD_NAME" ;;
  driver)
    shift
    exec "$SPARK_HOME/bin/spark-submit" --conf "spark.driver.bindAddress=$SPARK_DRIVER_BIND_ADDRESS" \
      --deploy-mode client "$@" ;;
  *)
    exec "$@" ;;
esac
