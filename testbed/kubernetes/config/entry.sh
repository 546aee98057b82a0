#!/bin/sh
# Starts what a pod asks for: a Spark executor or driver as Spark's own image would, or any command. The class path of
# an executor begins as Spark's launcher has it.
set -e
spark=${SPARK_HOME:?set SPARK_HOME}
java=${JAVA_HOME:+$JAVA_HOME/bin/}java
case "$1" in
executor)
  first=$spark/conf:$(echo "$spark"/jars/slf4j-api-*.jar)
  set -- "$java"
  for number in $(env | sed -n 's/^SPARK_JAVA_OPT_\([0-9]*\)=.*/\1/p' | sort -n); do
    eval "set -- \"\$@\" \"\$SPARK_JAVA_OPT_$number\""
  done
  exec "$@" "-Xms$SPARK_EXECUTOR_MEMORY" "-Xmx$SPARK_EXECUTOR_MEMORY" \
    -cp "$first:$spark/jars/*:${SPARK_EXTRA_CLASSPATH:+$SPARK_EXTRA_CLASSPATH:}$PWD" \
    org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend \
    --driver-url "$SPARK_DRIVER_URL" --executor-id "$SPARK_EXECUTOR_ID" --cores "$SPARK_EXECUTOR_CORES" \
    --app-id "$SPARK_APPLICATION_ID" --hostname "$SPARK_EXECUTOR_POD_IP" \
    --resourceProfileId "$SPARK_RESOURCE_PROFILE_ID" --podName "$SPARK_EXECUTOR_POD_NAME"
  ;;
driver)
  shift
  exec "$spark/bin/spark-submit" --conf "spark.driver.bindAddress=$SPARK_DRIVER_BIND_ADDRESS" \
    --conf "spark.executorEnv.SPARK_DRIVER_POD_IP=$SPARK_DRIVER_BIND_ADDRESS" --deploy-mode client "$@"
  ;;
*)
  exec "$@"
  ;;
esac
