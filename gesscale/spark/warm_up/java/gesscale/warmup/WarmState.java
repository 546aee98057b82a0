package gesscale.warmup;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.io.ObjectStreamClass;
import java.io.Serializable;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.regex.Pattern;
import javax.management.ObjectName;
import org.apache.spark.SparkEnv;
import org.rocksdb.RocksDB;

/** State of a working executor that a new one copies: the keys of its Python workers, and its loaded classes. */
record WarmState(ArrayList<PythonWorkerKey> workers, ArrayList<String> classes) implements Serializable {
  private static final Pattern CLASS = Pattern.compile("[|\\- ]*([\\w.$]+)/(?:null|0x[0-9a-f]+)( \\(intf\\))?");

  private static final Set<String> WITH_LIBRARY = Set.of(
      "org.xerial.snappy.Snappy", "org.rocksdb.NativeLibraryLoader", "com.github.luben.zstd.util.Native");

  static WarmState of(SparkEnv env) throws Exception {
    return new WarmState(PythonWorkerKey.inUse(env), loaded());
  }

  /** Serializes this to bytes, because Spark's messages can only have classes of Spark's class path, not of this jar. */
  byte[] bytes() throws IOException {
    var bytes = new ByteArrayOutputStream();
    try (var out = new ObjectOutputStream(bytes)) {
      out.writeObject(this);
    }
    return bytes.toByteArray();
  }

  static WarmState read(byte[] bytes) throws IOException, ClassNotFoundException {
    try (var in = new ObjectInputStream(new ByteArrayInputStream(bytes)) {
      @Override
      protected Class<?> resolveClass(ObjectStreamClass stored) throws ClassNotFoundException {
        return Class.forName(stored.getName(), false, WarmState.class.getClassLoader());
      }
    }) {
      return (WarmState) in.readObject();
    }
  }

  /** Returns the loaded classes of this JVM; empty if it does not list them (jcmd VM.class_hierarchy, JDK 9 to 21). */
  private static ArrayList<String> loaded() throws Exception {
    var hierarchy = ManagementFactory.getPlatformMBeanServer().invoke(
        new ObjectName("com.sun.management:type=DiagnosticCommand"),
        "vmClassHierarchy",
        new Object[] {new String[0]},
        new String[] {String[].class.getName()});
    var names = new ArrayList<String>();
    for (String line : String.valueOf(hierarchy).lines().toList()) {
      var found = CLASS.matcher(line);
      if (found.matches()) {
        names.add(found.group(1));
      }
    }
    return names;
  }

  /**
   * Loads the classes, and initialises those that unpack a native library.
   *
   * <p>Generated classes do not exist here and are skipped.
   */
  static Void load(List<String> classes) {
    ClassLoader loader = Thread.currentThread().getContextClassLoader();
    for (String name : classes) {
      try {
        Class.forName(name, WITH_LIBRARY.contains(name), loader);
        if (name.equals("org.rocksdb.NativeLibraryLoader")) {
          RocksDB.loadLibrary();
        }
      } catch (ClassNotFoundException | LinkageError absent) {
        continue;
      }
    }
    return null;
  }
}
