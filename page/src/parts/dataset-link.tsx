/** Links to datasets, fields and runs, by their names. */
import type { DatasetName, FieldName } from "../api/answers";
import { isHiddenNamespace, namespaceOfRun } from "../api/hidden-names";
import type { PageState } from "../state/page-state";
import { FieldLabel, Name } from "./field-name";
import { Link } from "./link";

/** A dataset with its namespace; the namespace is quiet, since it is mostly the same. */
export function DatasetLink({ of: { namespace, name } }: { of: DatasetName }) {
  return (
    <Link class="full-name" to={{ view: "dataset", ns: namespace, name }}>
      {!isHiddenNamespace(namespace) && (
        <span class="namespace">
          <Name text={namespace} />/
        </span>
      )}
      <Name text={name} />
    </Link>
  );
}

interface FieldLinkProps {
  of: FieldName;
  /** The view to open, by default its graph; its names are added. */
  to?: Partial<PageState>;
  /** Leave out the dataset, where it is clear. */
  short?: boolean;
}

/** A field with its dataset; every row of a dataset links to that dataset. Of a hidden one there is its number alone. */
export function FieldLink({ of: { namespace, name, field }, to = { view: "graph" }, short = false }: FieldLinkProps) {
  if (isHiddenNamespace(namespace)) return <Name text={name} />;
  const names = { ns: namespace, name };
  const target: Partial<PageState> = field === "*" ? { view: "dataset", ...names } : { ...to, ...names, field };
  return (
    <Link class="full-name" to={target}>
      {!short && (
        <span class="namespace">
          <Name text={`${namespace}/${name}`} /> ·{" "}
        </span>
      )}
      <FieldLabel field={field} absent="dropped" />
    </Link>
  );
}

interface RunLinkProps {
  run: string;
  /** The namespace of its program, where it is known: ids other than UUIDs are unique in it alone. */
  ns?: string | undefined;
  title?: string;
  class?: string;
  children?: preact.ComponentChildren;
}

/** A run, by its id or by other words for it; one of a hidden program has a number, which leads nowhere. */
export function RunLink({ run, ns, children = <Name text={run} />, ...rest }: RunLinkProps) {
  return (
    <Link to={{ view: "run", ns: namespaceOfRun(run, ns), run }} {...rest}>
      {children}
    </Link>
  );
}
