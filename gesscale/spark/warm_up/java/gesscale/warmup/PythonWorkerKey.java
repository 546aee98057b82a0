package gesscale.warmup;

import java.io.Serializable;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.SparkEnv;
import scala.jdk.javaapi.CollectionConverters;

/**
 * What Spark keeps Python workers by: a task takes an idle worker only if all of this is the same.
 *
 * <p>Read from an executor that works (SparkEnv.pythonWorkers, private, Spark 4.3.0), so that nothing of Spark's
 * rules is repeated here.
 */
record PythonWorkerKey(String python, String workerModule, String daemonModule, HashMap<String, String> environment)
    implements Serializable {
  private static final String DIRECTORIES = "SPARK_LOCAL_DIRS";

  /** Returns the key of this executor's workers; null where it has none. */
  static PythonWorkerKey inUse(SparkEnv env) throws ReflectiveOperationException {
    Field field = SparkEnv.class.getDeclaredField("pythonWorkers");
    field.setAccessible(true);
    synchronized (env) {
      var keys = ((scala.collection.Map<?, ?>) field.get(env)).keysIterator();
      return keys.hasNext() ? of(keys.next()) : null;
    }
  }

  private static PythonWorkerKey of(Object key) throws ReflectiveOperationException {
    return new PythonWorkerKey(
        (String) value(key, "pythonExec"),
        (String) value(key, "workerModule"),
        (String) value(key, "daemonModule"),
        new HashMap<>(CollectionConverters.asJava((scala.collection.Map<String, String>) value(key, "envVars"))));
  }

  private static Object value(Object key, String name) throws ReflectiveOperationException {
    Method method = key.getClass().getMethod(name);
    method.setAccessible(true);
    return method.invoke(key);
  }

  /** Forks a worker and leaves it where the first task looks for an idle one. */
  void prepareWorker(SparkEnv env) {
    Map<String, String> own = new HashMap<>(environment);
    if (own.containsKey(DIRECTORIES)) { // the only variable that differs from executor to executor
      String[] paths = new String[env.blockManager().diskBlockManager().localDirs().length];
      for (int i = 0; i < paths.length; i++) {
        paths[i] = env.blockManager().diskBlockManager().localDirs()[i].getPath();
      }
      own.put(DIRECTORIES, String.join(",", paths));
    }
    scala.collection.immutable.Map<String, String> variables =
        scala.collection.immutable.Map$.MODULE$.from(CollectionConverters.asScala(own));
    var worker = env.createPythonWorker(python, workerModule, daemonModule, variables, true)._1();
    env.releasePythonWorker(python, workerModule, daemonModule, variables, worker);
  }
}
