/** A link to an answer as a page to print, which the server makes. */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { apiUrl, fetchText } from "../api/client";
import type { ApiPath, Params } from "../api/paths";
import { currentToken } from "../api/token";
import { download, fileName } from "../browser/files";
import { timeZoneId } from "../state/window";
import { Button } from "./button";
import { useZone } from "./time";

interface PrintedPageProps {
  path: ApiPath;
  /** Of an exact window, so that the page is about the runs that are shown. */
  params: Params;
  /** What the name of a file is made of. */
  names: readonly string[];
  children: ComponentChildren;
}

/** A link; with a token, which no link can send, the page is saved. */
export function PrintedPage({ path, params: asked, names, children }: PrintedPageProps) {
  const params = { ...asked, timezone: timeZoneId(useZone()) };
  const [isFailed, setFailed] = useState(false);
  if (currentToken() === undefined) {
    return (
      <a href={apiUrl(path, params)} target="_blank" rel="noreferrer">
        {children}
      </a>
    );
  }
  const save = () =>
    fetchText(path, params, { accept: "text/html" })
      .then(({ body }) => download(fileName(names, "html"), new Blob([body ?? ""], { type: "text/html" })))
      .catch(() => setFailed(true));
  return <Button onClick={() => void save()}>{isFailed ? "The page could not be loaded; try again" : children}</Button>;
}
