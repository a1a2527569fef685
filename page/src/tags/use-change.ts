/** A change that is sent to the API. */
import { useState } from "preact/hooks";
import { ApiProblem, fetchAnswer, type Offline } from "../api/client";
import { hasDotSegment } from "../api/dot-names";
import type { ApiPath } from "../api/paths";
import { asProblem } from "../queries/use-answer";

export interface Change {
  isBusy: boolean;
  problem?: ApiProblem | Offline;
  /** Send it; return whether it is durable, else `problem` says why not. */
  send: (method: "PUT" | "DELETE", path: ApiPath, body?: unknown) => Promise<boolean>;
}

/** A browser takes these names out of the address: the change would be of something else. */
const DOT_NAME = new ApiProblem(0, "Not possible in a browser", "It takes the names . and .. out of addresses. Other clients of the API do not.");

export function useChange(): Change {
  const [state, setState] = useState<Omit<Change, "send">>({ isBusy: false });
  const send: Change["send"] = async (method, path, body) => {
    if (hasDotSegment(path)) {
      setState({ isBusy: false, problem: DOT_NAME });
      return false;
    }
    setState({ isBusy: true });
    try {
      await fetchAnswer(path, {}, { method, body });
      setState({ isBusy: false });
      return true;
    } catch (error) {
      setState({ isBusy: false, problem: asProblem(error) });
      return false;
    }
  };
  return { ...state, send };
}
