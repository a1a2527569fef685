import java.lang.reflect.Method;
import java.util.HashMap;
import java.util.Map;

/** Reads members of Spark's objects by name, so that one source serves several releases of Spark. */
final class Reflection {
    private static final Map METHODS = new HashMap();
    private static final Map NAMES = new HashMap();

    private Reflection() {}

    /** Calls a public method without parameters; returns null where there is none, and opens an Option. */
    static synchronized Object get(Object target, String name) {
        if (target == null) {
            return null;
        }
        Map methods = (Map) METHODS.get(target.getClass());
        if (methods == null) {
            methods = new HashMap();
            METHODS.put(target.getClass(), methods);
        }
        if (!methods.containsKey(name)) {
            methods.put(name, find(target.getClass(), name));
        }
        Method method = (Method) methods.get(name);
        if (method == null) {
            return null;
        }
        try {
            return open(method.invoke(target, new Object[0]));
        } catch (Exception error) {
            return null;
        }
    }

    /** Follows a chain of members: get(get(target, first), second) and so on. */
    static Object path(Object target, String dotted) {
        Object value = target;
        String[] names = dotted.split("\\.");
        for (int i = 0; i < names.length; i++) {
            value = get(value, names[i]);
        }
        return value;
    }

    static String text(Object target, String dotted) {
        Object value = path(target, dotted);
        return value == null ? null : value.toString();
    }

    /** Looks a key up in a Java or Scala map, in any case, as Spark does; null where it is absent. */
    static String option(Object map, String key) {
        Object value = null;
        if (map instanceof Map) {
            Object[] entries = ((Map) map).entrySet().toArray();
            for (int i = 0; i < entries.length && value == null; i++) {
                Map.Entry entry = (Map.Entry) entries[i];
                value = key.equalsIgnoreCase(String.valueOf(entry.getKey())) ? entry.getValue() : null;
            }
        } else if (map instanceof scala.collection.Map) {
            scala.collection.Iterator entries = ((scala.collection.Map) map).iterator();
            while (entries.hasNext() && value == null) {
                scala.Tuple2 entry = (scala.Tuple2) entries.next();
                value = key.equalsIgnoreCase(String.valueOf(entry._1())) ? entry._2() : null;
            }
        }
        return value == null ? null : value.toString();
    }

    /** Returns the value of a private field; null where there is none. */
    static Object field(Object target, String name) {
        if (target == null) {
            return null;
        }
        try {
            java.lang.reflect.Field field = target.getClass().getDeclaredField(name);
            field.setAccessible(true);
            return open(field.get(target));
        } catch (Exception error) {
            return null;
        }
    }

    static Object open(Object value) {
        if (value instanceof scala.Option) {
            scala.Option option = (scala.Option) value;
            return option.isDefined() ? option.get() : null;
        }
        return value;
    }

    /** Names of the parameters of a case class. Scala 2.12 has them as fields only, among those of traits. */
    static String[] parameters(scala.Product product) {
        int arity = product.productArity();
        String[] names = new String[arity];
        try {
            Method method = product.getClass().getMethod("productElementName", new Class[] {Integer.TYPE});
            for (int i = 0; i < arity; i++) {
                names[i] = (String) method.invoke(product, new Object[] {new Integer(i)});
            }
            return names;
        } catch (Exception scala212) {
            return fieldNames(product, names);
        }
    }

    private static String[] fieldNames(scala.Product product, String[] names) {
        java.lang.reflect.Field[] fields = product.getClass().getDeclaredFields();
        for (int i = 0; i < names.length; i++) {
            Object element = product.productElement(i);
            names[i] = "parameter" + i;
            for (int j = 0; j < fields.length; j++) {
                if (fields[j] != null && isElement(fields[j], product, element)) {
                    names[i] = fields[j].getName();
                    fields[j] = null;
                    break;
                }
            }
        }
        return names;
    }

    private static boolean isElement(java.lang.reflect.Field field, Object product, Object element) {
        try {
            field.setAccessible(true);
            Object value = field.get(product);
            return field.getType().isPrimitive() ? value.equals(element) : value == element && value != null;
        } catch (Exception error) {
            return false;
        }
    }

    static synchronized String simpleName(Object value) {
        String name = (String) NAMES.get(value.getClass());
        if (name == null) {
            name = simpleName(value.getClass().getName());
            NAMES.put(value.getClass(), name);
        }
        return name;
    }

    private static String simpleName(String className) {
        String name = className;
        name = name.substring(name.lastIndexOf('.') + 1);
        if (name.endsWith("$")) {
            name = name.substring(0, name.length() - 1);
        }
        return name.substring(name.lastIndexOf('$') + 1);
    }

    private static Method find(Class type, String name) {
        try {
            Method method = type.getMethod(name, new Class[0]);
            method.setAccessible(true);
            return method;
        } catch (Exception error) {
            return null;
        }
    }
}
