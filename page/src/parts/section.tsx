/** Parts of a screen: a heading with a number, a list of facts. */
import type { ComponentChildren } from "preact";

interface SectionProps {
  title: ComponentChildren;
  /** How many things it has. */
  count?: number | string;
  /** Words behind the title. */
  note?: ComponentChildren;
  children: ComponentChildren;
}

export function Section({ title, count, note, children }: SectionProps) {
  return (
    <section>
      <h2>
        {title} {count !== undefined && <span class="count">{count}</span>} {note && <span class="quiet">{note}</span>}
      </h2>
      {children}
    </section>
  );
}

/** A name and what it is; undefined, false and empty ones are left out. */
export type Fact = readonly [name: string, fact: ComponentChildren];

export function Facts({ of }: { of: readonly Fact[] }) {
  return (
    <dl class="facts">
      {of.map(([name, fact]) =>
        fact === undefined || fact === false || fact === "" ? null : (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{fact}</dd>
          </div>
        ),
      )}
    </dl>
  );
}
