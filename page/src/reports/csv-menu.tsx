/** A menu of the parts of a report, each as a CSV file. */
import { useState } from "preact/hooks";
import type { ApiPath, Params } from "../api/paths";
import { download, fileName } from "../browser/files";
import { Menu } from "../parts/menu";
import { describe } from "../parts/problem-box";
import { asProblem } from "../queries/use-answer";
import { readCsv } from "./csv";

interface CsvMenuProps {
  path: ApiPath;
  params: Params;
  /** Values of the parameter `part`; none for a report that is one table. */
  parts: readonly string[];
  /** What the name of a file is made of. */
  names: readonly string[];
}

export function CsvMenu({ path, params, parts, names }: CsvMenuProps) {
  const [status, setStatus] = useState<string>();
  const save = async (part?: string) => {
    setStatus("Reading…");
    try {
      const { text, isCut } = await readCsv(path, { ...params, part });
      download(fileName([...names, part ?? "fields"], "csv"), new Blob([text], { type: "text/csv" }));
      setStatus(isCut ? "The file is not complete: a limit cut it." : undefined);
    } catch (error) {
      const { title, detail } = describe(asProblem(error));
      setStatus(`${title}: ${detail}`);
    }
  };
  return (
    <>
      <Menu text="CSV" icon="download">
        {(close) => (
          <ul class="menu-list">
            {(parts.length > 0 ? parts : [undefined]).map((part) => (
              <li key={part}>
                <button type="button" onClick={() => { close(); void save(part); }}>
                  {part ?? "fields and programs"}
                </button>
              </li>
            ))}
          </ul>
        )}
      </Menu>
      <span role="status" class="quiet">{status}</span>
    </>
  );
}
