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

/** Warms the JVM and its Python workers; no failure and no delay beyond the timeout gets out of here. */
final class WarmExecutor implements ExecutorPlugin {
  private static final Logger LOG = LoggerFactory.getLogger(WarmExecutor.class);
  private static final String TIMEOUT = "spark.gesscale.warmUp.timeout";
  private static final String DAEMON = "spark.gesscale.warmUp.daemon";
  private static final String SPARKS_DAEMON = "spark.python.daemon.module";
  private static final int EXPERIENCED = 16; // by then tasks of every stage have been here, it is hoped
  private final AtomicInteger succeeded = new AtomicInteger();
  private PluginContext context;
  private volatile boolean worked;

  @Override
  public void init(PluginContext plugin, Map<String, String> extra) {
    context = plugin;
    long beganNs = System.nanoTime();
    FutureTask<Void> jvm = start("JVM", JvmWarmUp::run);
    FutureTask<Void> learnt = start("learnt", this::learn);
    try {
      long deadlineNs = beganNs + TimeUnit.SECONDS.toNanos(plugin.conf().getTimeAsSeconds(TIMEOUT, "30s"));
      for (FutureTask<Void> step : new FutureTask[] {jvm, learnt}) {
        step.get(Math.max(0, deadlineNs - System.nanoTime()), TimeUnit.NANOSECONDS);
      }
    } catch (Throwable error) {
      LOG.warn("gesscale: this executor works without a full warm-up", error);
    }
    LOG.warn("gesscale: warm-up over after {} ms", (System.nanoTime() - beganNs) / 1_000_000);
    try {
      plugin.send(plugin.executorID());
    } catch (Throwable error) {
      LOG.warn("gesscale: the driver counts this executor from its first task on", error);
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
    if (count != 1 && count != EXPERIENCED) {
      return;
    }
    try {
      context.send(Experience.of(SparkEnv.get()).bytes());
    } catch (Throwable error) {
      LOG.warn("gesscale: later executors will start with cold Python workers", error);
    }
  }

  private Void learn() throws Exception {
    if (context.ask(WarmUp.QUESTION) instanceof byte[] bytes) {
      Experience experience = Experience.read(bytes);
      FutureTask<Void> classes = start("classes", () -> Experience.load(experience.classes()));
      String daemon = context.conf().get(DAEMON, "");
      for (PythonWorkerKey key : experience.workers()) {
        if (daemon.isEmpty() || !warmByDaemon(key, daemon)) {
          key.prepareWorkers(SparkEnv.get());
        }
      }
      classes.get();
    }
    return null;
  }

  /** Prepares a worker by our daemon, which the tasks of this executor use then; false where it does not start. */
  private static boolean warmByDaemon(PythonWorkerKey key, String daemon) {
    try {
      key.withDaemon(daemon).prepareWorkers(SparkEnv.get());
      SparkEnv.get().conf().set(SPARKS_DAEMON, daemon);
      return true;
    } catch (Throwable error) {
      LOG.warn("gesscale: {} does not start here, Spark's own daemon does; is gesscale in the image?", daemon, error);
      return false;
    }
  }

  private static FutureTask<Void> start(String what, Callable<Void> step) {
    FutureTask<Void> task = new FutureTask<>(step);
    Thread thread = new Thread(task, "gesscale-warm-up-" + what);
    thread.setDaemon(true);
    thread.setContextClassLoader(Thread.currentThread().getContextClassLoader());
    thread.start();
    return task;
  }
}
