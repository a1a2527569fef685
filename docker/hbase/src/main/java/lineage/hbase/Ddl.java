package lineage.hbase;

import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.Admin;
import org.apache.hadoop.hbase.client.ColumnFamilyDescriptor;
import org.apache.hadoop.hbase.client.ColumnFamilyDescriptorBuilder;
import org.apache.hadoop.hbase.client.TableDescriptor;
import org.apache.hadoop.hbase.client.TableDescriptorBuilder;
import org.apache.hadoop.hbase.exceptions.HBaseException;
import org.apache.hadoop.hbase.io.compress.Compression;
import org.apache.hadoop.hbase.io.encoding.DataBlockEncoding;
import org.apache.hadoop.hbase.regionserver.BloomType;
import org.apache.hadoop.hbase.util.Bytes;

/** One `create` or `alter` in the language of HBase's shell; supports the output of `fll table ddl`. */
record Ddl(String verb, TableName table, Map<String, Map<String, String>> families, byte[][] splits) {
  private static final Pattern VERB = Pattern.compile("\\s*(create|alter)\\s");
  private static final Pattern STRING = Pattern.compile("\\s*'([^'\\\\]*)'");
  private static final Pattern KEY = Pattern.compile("\\s*(\\w+)\\s*=>");
  private static final Pattern COMMA = Pattern.compile("\\s*(,)");
  private static final Pattern BRACES_OPEN = Pattern.compile("\\s*(\\{)");
  private static final Pattern BRACES_CLOSE = Pattern.compile("\\s*(})");
  private static final Pattern LIST_OPEN = Pattern.compile("\\s*(\\[)");
  private static final Pattern LIST_CLOSE = Pattern.compile("\\s*(])");

  /** Parses all statements of a text, or fails; a line that ends in a comma continues on the next one. */
  static List<Ddl> parse(String text) throws HBaseException {
    List<Ddl> statements = new ArrayList<>();
    for (String line : text.replaceAll(",\\s*\\R", ", ").split("\\R")) {
      if (!line.isBlank()) {
        statements.add(new Reader(line.strip()).statement());
      }
    }
    return statements;
  }

  void run(Admin admin, boolean ifMissing) throws IOException, HBaseException {
    if (verb.equals("alter")) {
      admin.modifyTable(with(admin.getDescriptor(table)));
    } else if (admin.tableExists(table)) {
      if (!ifMissing) {
        throw new IllegalArgumentException("table " + table + " is there already");
      }
      System.out.println(table + " is there already");
      return;
    } else {
      admin.createTable(with(TableDescriptorBuilder.newBuilder(table).build()), splits);
    }
    System.out.println(table + (verb.equals("alter") ? " is altered" : " is made"));
  }

  /** Returns the table with these families changed, or added if it does not have them. */
  private TableDescriptor with(TableDescriptor found) throws HBaseException {
    TableDescriptorBuilder changed = TableDescriptorBuilder.newBuilder(found);
    for (var named : families.entrySet()) {
      ColumnFamilyDescriptor old = found.getColumnFamily(Bytes.toBytes(named.getKey()));
      var family = old == null ? ColumnFamilyDescriptorBuilder.newBuilder(Bytes.toBytes(named.getKey()))
        : ColumnFamilyDescriptorBuilder.newBuilder(old);
      for (var attribute : named.getValue().entrySet()) {
        set(family, attribute.getKey(), attribute.getValue());
      }
      changed.removeColumnFamily(Bytes.toBytes(named.getKey())).setColumnFamily(family.build());
    }
    return changed.build();
  }

  private static void set(ColumnFamilyDescriptorBuilder family, String name, String value) throws HBaseException {
    switch (name) {
      case "VERSIONS" -> family.setMaxVersions(Integer.parseInt(value));
      case "BLOOMFILTER" -> family.setBloomFilterType(BloomType.valueOf(value));
      case "DATA_BLOCK_ENCODING" -> family.setDataBlockEncoding(DataBlockEncoding.valueOf(value));
      case "COMPRESSION" -> family.setCompressionType(Compression.Algorithm.valueOf(value));
      case "BLOCKCACHE" -> family.setBlockCacheEnabled(bool(value));
      case "IN_MEMORY" -> family.setInMemory(bool(value));
      case "BLOCKSIZE" -> family.setBlocksize(Integer.parseInt(value));
      case "TTL" -> family.setTimeToLive(value);
      default -> throw new IllegalArgumentException("no attribute is called " + name);
    }
  }

  private static boolean bool(String value) {
    if (!value.equals("true") && !value.equals("false")) {
      throw new IllegalArgumentException("true or false, not " + value);
    }
    return value.equals("true");
  }

  /** Reads one statement from left to right. */
  private static final class Reader {
    private final Matcher rest;
    private final String line;

    Reader(String line) {
      this.line = line;
      this.rest = Pattern.compile("").matcher(line);
    }

    Ddl statement() throws HBaseException {
      String verb = take(VERB);
      TableName table = TableName.valueOf(take(STRING));
      Map<String, Map<String, String>> families = new LinkedHashMap<>();
      byte[][] splits = null;
      while (next(COMMA)) {
        take(BRACES_OPEN);
        String key = take(KEY);
        if (key.equals("SPLITS") && verb.equals("create")) {
          splits = strings();
          take(BRACES_CLOSE);
          break;
        }
        if (!key.equals("NAME")) {
          throw new IllegalArgumentException("no NAME but " + key + " begins a column family");
        }
        families.put(take(STRING), attributes());
      }
      if (rest.regionStart() < line.length()) {
        throw notUnderstood();
      }
      if (families.isEmpty()) {
        throw new IllegalArgumentException("no column family in: " + line);
      }
      Ddl statement = new Ddl(verb, table, families, splits);
      statement.with(TableDescriptorBuilder.newBuilder(table).build()); // validates before anything is done
      return statement;
    }

    private Map<String, String> attributes() {
      Map<String, String> attributes = new LinkedHashMap<>();
      while (next(COMMA)) {
        attributes.put(take(KEY), take(STRING));
      }
      take(BRACES_CLOSE);
      return attributes;
    }

    private byte[][] strings() {
      List<byte[]> strings = new ArrayList<>();
      take(LIST_OPEN);
      do {
        strings.add(Bytes.toBytes(take(STRING)));
      } while (next(COMMA));
      take(LIST_CLOSE);
      return strings.toArray(byte[][]::new);
    }

    private boolean next(Pattern pattern) {
      return found(pattern) != null;
    }

    private String take(Pattern pattern) {
      String found = found(pattern);
      if (found == null) {
        throw notUnderstood();
      }
      return found;
    }

    private String found(Pattern pattern) {
      if (!rest.usePattern(pattern).lookingAt()) {
        return null;
      }
      String found = rest.group(1);
      rest.region(rest.end(), line.length());
      return found;
    }

    private IllegalArgumentException notUnderstood() {
      return new IllegalArgumentException("not understood: " + line.substring(rest.regionStart()).strip());
    }
  }
}
