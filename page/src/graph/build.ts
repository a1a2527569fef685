/** Graphs from the answers of the API. */

import type { DatasetName, Entry, Reach } from "../api/answers";
import { compareText, EVERY_ROW, keyOf, mergeOrder, type Box, type Field, type Graph, type Link, type Relation } from "./model";

type LinkFacts = Partial<Pick<Link, "runs" | "lastStart" | "lastRun" | "lastRunNamespace" | "inOrder">> & { influence?: string; failed?: boolean };

/** Return the graph of answers about the reach of one field: one direction, or both. */
export function graphOfReach(answers: readonly Reach[]): Graph {
  const builder = new GraphBuilder();
  for (const { nodes, edges, unknown = [] } of answers) {
    for (const node of nodes) {
      const field = builder.orderedField(node, node.field, node.inOrder);
      if (node.dropped) field.dropped = true;
    }
    for (const edge of edges)
      builder.link(builder.field(edge.from, edge.from.field), builder.field(edge.to, edge.to.field), edge);
    for (const { source, destination } of unknown) builder.relate(source, destination);
  }
  return builder.build();
}

/** Return the graph of the pairs of a dataset. A pair that both directions list is one link. */
export function graphOfEntries(entries: readonly Entry[]): Graph {
  const builder = new GraphBuilder();
  for (const { source, destination, fieldmap, unknown } of entries) {
    if (unknown && source && destination) builder.relate(source, destination);
    for (const pair of fieldmap) {
      const from = source && pair.from !== null ? builder.field(source, pair.from) : undefined;
      const to = destination && pair.to !== null ? builder.field(destination, pair.to) : undefined;
      if (from && to) builder.link(from, to, pair);
      else if (from) from.dropped = true;
      else if (to) to.generated = true;
    }
  }
  return builder.build();
}

/** Collects a graph from pairs in any order; what it builds does not depend on that order. */
export class GraphBuilder {
  private readonly boxes = new Map<string, { box: Box; fields: Map<string, Field> }>();
  private readonly links = new Map<Field, Map<Field, Link>>();
  private readonly relations = new Map<string, Relation>();

  field(dataset: DatasetName, name: string): Field {
    const { box, fields } = this.box(dataset);
    return existing(fields, name, () => ({ box, name, into: [], out: [] }));
  }

  /** Add a field with what an answer says of its order. */
  orderedField(dataset: DatasetName, name: string, inOrder: boolean | undefined): Field {
    const isNew = !this.box(dataset).fields.has(name);
    const field = this.field(dataset, name);
    field.inOrder = isNew ? inOrder : mergeOrder(field.inOrder, inOrder);
    return field;
  }

  /** Add a link, or merge it with the one that is there: direct and in order if one of them is, failed if both are. */
  link(source: Field, target: Field, { influence, failed = false, inOrder, ...counted }: LinkFacts): Link {
    const indirect = influence === "indirect";
    const targets = existing(this.links, source, () => new Map<Field, Link>());
    const facts = Object.fromEntries(Object.entries({ runs: counted.runs, lastStart: counted.lastStart, lastRun: counted.lastRun, lastRunNamespace: counted.lastRunNamespace }).filter(([, fact]) => fact !== undefined));
    const isNew = !targets.has(target);
    const link: Link = existing(targets, target, () => ({ source, target, indirect, failed, ...facts }));
    link.indirect &&= indirect;
    link.failed &&= failed;
    link.inOrder = isNew ? inOrder : mergeOrder(link.inOrder, inOrder);
    return link;
  }

  relate(source: DatasetName, target: DatasetName): void {
    const pair = { source: this.box(source).box, target: this.box(target).box };
    this.relations.set(pair.source.key + pair.target.key, pair);
  }

  build(): Graph {
    const boxes = [...this.boxes.values()].map(({ box, fields }) => {
      box.fields.push(...[...fields.values()].sort(compareFields));
      return box;
    });
    const links = [...this.links.values()].flatMap((targets) => [...targets.values()]).sort(compareLinks);
    for (const link of links) {
      link.source.out.push(link);
      link.target.into.push(link);
    }
    boxes.sort(compareBoxes).forEach((box, index) => (box.index = index));
    return { boxes, links, unknown: [...this.relations.values()].sort(compareRelations) };
  }

  private box({ namespace, name }: DatasetName): { box: Box; fields: Map<string, Field> } {
    const key = keyOf({ namespace, name });
    return existing(this.boxes, key, () => ({ box: { key, index: 0, namespace, name, fields: [] }, fields: new Map() }));
  }
}

function existing<K, V>(map: Map<K, V>, key: K, create: () => V): V {
  const value = map.get(key) ?? create();
  map.set(key, value);
  return value;
}

function compareBoxes(a: Box, b: Box): number {
  return compareText(a.namespace, b.namespace) || compareText(a.name, b.name);
}

function compareFields(a: Field, b: Field): number {
  return Number(b.name === EVERY_ROW) - Number(a.name === EVERY_ROW) || compareText(a.name, b.name);
}

function compareLinks(a: Link, b: Link): number {
  return (
    compareBoxes(a.source.box, b.source.box) ||
    compareText(a.source.name, b.source.name) ||
    compareBoxes(a.target.box, b.target.box) ||
    compareFields(a.target, b.target)
  );
}

function compareRelations(a: Relation, b: Relation): number {
  return compareBoxes(a.source, b.source) || compareBoxes(a.target, b.target);
}
