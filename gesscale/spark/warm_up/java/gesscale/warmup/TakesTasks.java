package gesscale.warmup;

import java.io.Serializable;

/** Tells the driver that an executor has ended its warm-up: Spark knew it before, but gave it nothing to do. */
record TakesTasks(String id) implements Serializable {}
