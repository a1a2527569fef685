/** Asks for a token, in place of the page: without one nothing of it can be shown. */

import { useId, useState } from "preact/hooks";
import { giveToken, isToken } from "../api/token";
import { Button } from "./button";

/** `isRefused`: a token was given before, and the server does not take it. */
export function TokenForm({ isRefused }: { isRefused: boolean }) {
  const [typed, setTyped] = useState("");
  const id = useId();
  const isWrong = typed.trim() !== "" && !isToken(typed);
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    if (isToken(typed)) giveToken(typed);
  };
  return (
    <main id="main" tabIndex={-1} class="token-screen">
      <h1>This server asks who you are</h1>
      <p role={isRefused ? "alert" : undefined}>
        {isRefused ? "It does not take the token: it is mistyped, has expired or was revoked." : "Give it your token. It is kept until this tab is closed."}
      </p>
      <form class="text-form" aria-label="Token" onSubmit={submit}>
        <label>
          <span>Token</span>
          <input
            type="password"
            autocomplete="off"
            required
            spellcheck={false}
            value={typed}
            onInput={(event) => setTyped(event.currentTarget.value)}
            aria-invalid={isWrong}
            aria-describedby={isWrong ? id : undefined}
          />
          {isWrong && <span id={id} class="field-problem">No token has these characters.</span>}
        </label>
        <Button type="submit" kind="primary">
          Continue
        </Button>
      </form>
    </main>
  );
}
