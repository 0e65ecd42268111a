import io.delta.storage.LocalLogStore;
import java.io.BufferedWriter;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.Iterator;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;

/**
 * Commits to a folder of this machine that several processes write to: a file of the log is linked to its name,
 * which fails if the name is taken. Delta's own store for local folders knows writers of its own process alone.
 */
public class AtomicLogStore extends LocalLogStore {
  public AtomicLogStore(Configuration conf) {
    super(conf);
  }

  public void write(Path path, Iterator actions, Boolean overwrite, Configuration conf) throws IOException {
    if (overwrite.booleanValue()) {
      super.write(path, actions, overwrite, conf);
      return;
    }
    java.nio.file.Path target = new java.io.File(path.toUri().getPath()).toPath();
    java.nio.file.Path written = Files.createTempFile(target.getParent(), ".", ".tmp");
    try {
      BufferedWriter writer = Files.newBufferedWriter(written, StandardCharsets.UTF_8);
      while (actions.hasNext()) {
        writer.write((String) actions.next());
        writer.write("\n");
      }
      writer.close();
      Files.createLink(target, written);
    } finally {
      Files.delete(written);
    }
  }
}
