package gesscale.warmup;

import java.util.Map;
import org.apache.spark.SparkContext;
import org.apache.spark.api.plugin.DriverPlugin;
import org.apache.spark.api.plugin.ExecutorPlugin;
import org.apache.spark.api.plugin.PluginContext;
import org.apache.spark.api.plugin.SparkPlugin;

/**
 * Warms a new executor before Spark gives it tasks.
 *
 * <p>Spark initialises plugins while it makes the executor, and offers the executor's cores after that.
 */
public final class WarmUp implements SparkPlugin {
  @Override
  public DriverPlugin driverPlugin() {
    return new Remembering();
  }

  @Override
  public ExecutorPlugin executorPlugin() {
    return new WarmExecutor();
  }

  /** Remembers which Python worker the executors use, for those that come later. */
  private static final class Remembering implements DriverPlugin {
    private PythonWorkerKey last;

    @Override
    public Map<String, String> init(SparkContext context, PluginContext plugin) {
      return Map.of();
    }

    @Override
    public synchronized Object receive(Object message) {
      if (message instanceof PythonWorkerKey key) {
        last = key;
      }
      return last;
    }
  }
}
