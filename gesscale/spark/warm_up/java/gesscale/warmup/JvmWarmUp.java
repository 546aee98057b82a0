package gesscale.warmup;

import java.io.ByteArrayOutputStream;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.ipc.ArrowStreamWriter;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.execution.arrow.ArrowWriter;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.ArrowUtils;

/** Runs the first steps of a Python operator's first task: generates code, and writes rows as Arrow. */
final class JvmWarmUp {
  private static final int ROWS = 100;

  private JvmWarmUp() {}

  static Void run() throws Exception {
    StructType schema =
        new StructType().add("a", DataTypes.LongType).add("b", DataTypes.DoubleType);
    UnsafeProjection projection = UnsafeProjection.create(schema);
    try (var allocator = ArrowUtils.rootAllocator().newChildAllocator("warm-up", 0, Long.MAX_VALUE);
        var root = VectorSchemaRoot.create(
            ArrowUtils.toArrowSchema(schema, "UTC", true, false, false), allocator);
        var stream = new ArrowStreamWriter(root, null, new ByteArrayOutputStream())) {
      ArrowWriter writer = ArrowWriter.create(root);
      InternalRow row = InternalRow.fromSeq(
          scala.jdk.javaapi.CollectionConverters.asScala(java.util.List.<Object>of(1L, 2.0)).toSeq());
      for (int i = 0; i < ROWS; i++) {
        writer.write(projection.apply(row));
      }
      writer.finish();
      stream.writeBatch();
    }
    return null;
  }
}
