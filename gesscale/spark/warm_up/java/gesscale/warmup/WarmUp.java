package gesscale.warmup;

import java.util.Map;
import java.util.TreeSet;
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
  /** The driver's setting that lists the executors that have ended their warm-up, separated by commas. */
  static final String WARM = "spark.gesscale.warmUp.warm";

  /** Asks the driver for the newest experience; other messages are an experience, or the id of an executor that is warm. */
  static final String QUESTION = "?";

  @Override
  public DriverPlugin driverPlugin() {
    return new Remembering();
  }

  @Override
  public ExecutorPlugin executorPlugin() {
    return new WarmExecutor();
  }

  /** Remembers what an executor that works has, for those that come later, and who takes tasks by now. */
  private static final class Remembering implements DriverPlugin {
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
      if (message instanceof byte[] experience) {
        last = experience;
      } else if (!QUESTION.equals(message)) {
        warm.add((String) message);
        context.conf().set(WARM, String.join(",", warm));
      } else {
        return last;
      }
      return null;
    }
  }
}
