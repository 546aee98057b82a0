package gesscale.warmup;

import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.apache.spark.SparkEnv;
import org.apache.spark.api.plugin.ExecutorPlugin;
import org.apache.spark.api.plugin.PluginContext;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Warms the JVM and a Python worker; no failure and no delay beyond the timeout gets out of here. */
final class WarmExecutor implements ExecutorPlugin {
  private static final Logger LOG = LoggerFactory.getLogger(WarmExecutor.class);
  private static final String TIMEOUT = "spark.gesscale.warmUp.timeout";
  private PluginContext context;
  private volatile boolean told;
  private volatile boolean worked;

  @Override
  public void init(PluginContext plugin, Map<String, String> extra) {
    context = plugin;
    long beganNs = System.nanoTime();
    FutureTask<Void> jvm = start("JVM", JvmWarmUp::run);
    FutureTask<Void> python = start("Python", this::warmPython);
    try {
      long deadlineNs = beganNs + TimeUnit.SECONDS.toNanos(plugin.conf().getTimeAsSeconds(TIMEOUT, "15s"));
      for (FutureTask<Void> step : new FutureTask[] {jvm, python}) {
        step.get(Math.max(0, deadlineNs - System.nanoTime()), TimeUnit.NANOSECONDS);
      }
    } catch (Throwable error) {
      LOG.warn("gesscale: this executor works without a full warm-up", error);
    }
    LOG.warn("gesscale: warm-up over after {} ms", (System.nanoTime() - beganNs) / 1_000_000);
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
    if (told) {
      return;
    }
    try {
      PythonWorkerKey key = PythonWorkerKey.inUse(SparkEnv.get());
      if (key != null) {
        context.send(key);
        told = true;
      }
    } catch (Throwable error) {
      told = true;
      LOG.warn("gesscale: later executors will start with a cold Python worker", error);
    }
  }

  private Void warmPython() throws Exception {
    if (context.ask("which Python worker?") instanceof PythonWorkerKey key) {
      key.prepareWorker(SparkEnv.get());
    }
    return null;
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
