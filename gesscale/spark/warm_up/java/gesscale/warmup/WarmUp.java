package gesscale.warmup;

import java.util.Map;
import java.util.TreeSet;
import org.apache.spark.SparkContext;
import org.apache.spark.api.plugin.DriverPlugin;
import org.apache.spark.api.plugin.ExecutorPlugin;
import org.apache.spark.api.plugin.PluginContext;
import org.apache.spark.api.plugin.SparkPlugin;

/**
 * Warms up a new executor before Spark schedules tasks on it.
 *
 * <p>Spark initialises plugins while it creates the executor, and offers the executor's cores afterwards.
 */
public final class WarmUp implements SparkPlugin {
  /** Setting of the driver that lists the executors that have finished their warm-up, separated by commas. */
  static final String WARM = "spark.gesscale.warmUp.warm";

  /** Requests the newest state from the driver; other messages are a state, or the id of a warm executor. */
  static final String REQUEST = "?";

  @Override
  public DriverPlugin driverPlugin() {
    return new WarmUpDriver();
  }

  @Override
  public ExecutorPlugin executorPlugin() {
    return new WarmExecutor();
  }

  /** Keeps the newest state of a working executor for new ones, and the ids of warm executors. */
  private static final class WarmUpDriver implements DriverPlugin {
    private final TreeSet<String> warm = new TreeSet<>();
    private SparkContext context;
    private byte[] last;

    @Override
    public Map<String, String> init(SparkContext driver, PluginContext plugin) {
      context = driver;
      return Map.of();
    }

    @Override
    public synchronized Object receive(Object message) {
      if (message instanceof byte[] state) {
        last = state;
      } else if (!REQUEST.equals(message)) {
        warm.add((String) message);
        context.conf().set(WARM, String.join(",", warm));
      } else {
        return last;
      }
      return null;
    }
  }
}
