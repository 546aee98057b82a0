package gesscale.warmup;

import java.io.Serializable;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.SparkEnv;
import org.apache.spark.api.python.PythonWorker;
import org.apache.spark.api.python.PythonWorkerFactory;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Key by which Spark reuses Python workers: a task takes an idle worker only if all fields are equal.
 *
 * <p>It is read from a working executor (SparkEnv.pythonWorkers, private, Spark 4.3.0), so that Spark's rules need not
 * be repeated here.
 */
record PythonWorkerKey(
    String python, String workerModule, String daemonModule, HashMap<String, String> environment, int workers)
    implements Serializable {
  private static final String DIRECTORIES = "SPARK_LOCAL_DIRS";

  /** Returns the keys of this executor's workers; a task may use several workers at a time. */
  static ArrayList<PythonWorkerKey> inUse(SparkEnv env) throws ReflectiveOperationException {
    Field field = SparkEnv.class.getDeclaredField("pythonWorkers");
    field.setAccessible(true);
    var found = new ArrayList<PythonWorkerKey>();
    synchronized (env) {
      for (var factories = ((scala.collection.Map<?, ?>) field.get(env)).iterator(); factories.hasNext(); ) {
        var each = (scala.Tuple2<?, ?>) factories.next();
        found.add(of(each._1(), ((PythonWorkerFactory) each._2()).idleWorkers().size()));
      }
    }
    return found;
  }

  private static PythonWorkerKey of(Object key, int idle) throws ReflectiveOperationException {
    return new PythonWorkerKey(
        (String) value(key, "pythonExec"),
        (String) value(key, "workerModule"),
        (String) value(key, "daemonModule"),
        new HashMap<>(CollectionConverters.asJava((scala.collection.Map<String, String>) value(key, "envVars"))),
        Math.max(1, idle));
  }

  private static Object value(Object key, String name) throws ReflectiveOperationException {
    Method method = key.getClass().getMethod(name);
    method.setAccessible(true);
    return method.invoke(key);
  }

  /** Returns the key of the same worker, forked by another daemon. */
  PythonWorkerKey withDaemon(String module) {
    return new PythonWorkerKey(python, workerModule, module, environment, workers);
  }

  /** Forks as many workers as a task uses at a time, and releases them as idle workers for the first task. */
  void prepareWorkers(SparkEnv env) {
    Map<String, String> adapted = new HashMap<>(environment);
    if (adapted.containsKey(DIRECTORIES)) { // the only variable that differs between executors
      String[] paths = new String[env.blockManager().diskBlockManager().localDirs().length];
      for (int i = 0; i < paths.length; i++) {
        paths[i] = env.blockManager().diskBlockManager().localDirs()[i].getPath();
      }
      adapted.put(DIRECTORIES, String.join(",", paths));
    }
    scala.collection.immutable.Map<String, String> variables =
        scala.collection.immutable.Map$.MODULE$.from(CollectionConverters.asScala(adapted));
    var made = new ArrayList<PythonWorker>();
    for (int i = 0; i < workers; i++) {
      made.add(env.createPythonWorker(python, workerModule, daemonModule, variables, true)._1());
    }
    for (PythonWorker worker : made) {
      env.releasePythonWorker(python, workerModule, daemonModule, variables, worker);
    }
  }
}
