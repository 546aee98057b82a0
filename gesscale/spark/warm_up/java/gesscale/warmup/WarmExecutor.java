package gesscale.warmup;

import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.spark.SparkEnv;
import org.apache.spark.api.plugin.ExecutorPlugin;
import org.apache.spark.api.plugin.PluginContext;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Warms up the JVM and its Python workers; contains all failures, and every delay beyond the timeout. */
final class WarmExecutor implements ExecutorPlugin {
  private static final Logger LOG = LoggerFactory.getLogger(WarmExecutor.class);
  private static final String TIMEOUT = "spark.gesscale.warmUp.timeout";
  private static final String DAEMON = "spark.gesscale.warmUp.daemon";
  private static final String SPARKS_DAEMON = "spark.python.daemon.module";
  private static final int SECOND_REPORT = 16; // by then, tasks of every stage have probably run here
  private final AtomicInteger succeeded = new AtomicInteger();
  private PluginContext context;
  private volatile boolean worked;

  @Override
  public void init(PluginContext plugin, Map<String, String> extra) {
    context = plugin;
    long beganNs = System.nanoTime();
    FutureTask<Void> jvm = start("JVM", JvmWarmUp::run);
    FutureTask<Void> copied = start("copy", this::copyState);
    try {
      long deadlineNs = beganNs + TimeUnit.SECONDS.toNanos(plugin.conf().getTimeAsSeconds(TIMEOUT, "30s"));
      for (FutureTask<Void> step : new FutureTask[] {jvm, copied}) {
        step.get(Math.max(0, deadlineNs - System.nanoTime()), TimeUnit.NANOSECONDS);
      }
    } catch (Throwable error) {
      LOG.warn("gesscale: the warm-up is incomplete; the executor takes tasks anyway", error);
    }
    LOG.warn("gesscale: warm-up finished after {} ms", (System.nanoTime() - beganNs) / 1_000_000);
    try {
      plugin.send(plugin.executorID());
    } catch (Throwable error) {
      LOG.warn("gesscale: the driver was not notified; it counts this executor after its first task", error);
    }
  }

  @Override
  public void onTaskStart() {
    if (!worked) {
      worked = true;
      LOG.warn("gesscale: first task");
    }
  }

  @Override
  public void onTaskSucceeded() {
    int count = succeeded.incrementAndGet();
    if (count != 1 && count != SECOND_REPORT) {
      return;
    }
    try {
      context.send(WarmState.of(SparkEnv.get()).bytes());
    } catch (Throwable error) {
      LOG.warn("gesscale: the state was not sent; new executors will start with cold Python workers", error);
    }
  }

  private Void copyState() throws Exception {
    if (context.ask(WarmUp.REQUEST) instanceof byte[] bytes) {
      WarmState state = WarmState.read(bytes);
      FutureTask<Void> classes = start("classes", () -> WarmState.load(state.classes()));
      String daemon = context.conf().get(DAEMON, "");
      for (PythonWorkerKey key : state.workers()) {
        if (daemon.isEmpty() || !prepareWithDaemon(key, daemon)) {
          key.prepareWorkers(SparkEnv.get());
        }
      }
      classes.get();
    }
    return null;
  }

  /** Prepares workers with our daemon, which this executor then uses; returns false if it does not start. */
  private static boolean prepareWithDaemon(PythonWorkerKey key, String daemon) {
    try {
      key.withDaemon(daemon).prepareWorkers(SparkEnv.get());
      SparkEnv.get().conf().set(SPARKS_DAEMON, daemon);
      return true;
    } catch (Throwable error) {
      LOG.warn("gesscale: the daemon {} did not start, using that of Spark; is gesscale in the image?", daemon, error);
      return false;
    }
  }

  private static FutureTask<Void> start(String name, Callable<Void> step) {
    FutureTask<Void> task = new FutureTask<>(step);
    Thread thread = new Thread(task, "gesscale-warm-up-" + name);
    thread.setDaemon(true);
    thread.setContextClassLoader(Thread.currentThread().getContextClassLoader());
    thread.start();
    return task;
  }
}
