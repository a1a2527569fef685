/** The answer about the operations of a field, or that the window has none. */
import type { ComponentChildren } from "preact";
import type { FieldOperations } from "../api/answers";
import { paths } from "../api/paths";
import { Answered } from "../parts/answered";
import { EmptyWindow } from "../parts/empty";
import { useAnswer } from "../queries/use-answer";
import { fieldParams, type FieldViewProps } from "./query";

interface FieldAnswerProps extends FieldViewProps {
  view: "detailed" | "simple";
  children: (body: FieldOperations) => ComponentChildren;
}

export function FieldAnswer({ query: { ns, name, field, direction }, state, view, children }: FieldAnswerProps) {
  const params = { ...fieldParams(state), direction, view };
  const answer = useAnswer({ path: paths.operations(ns, name, field), params });
  return (
    <Answered of={answer} lines={12}>
      {({ body }) =>
        body.operations.length > 0 ? (
          children(body)
        ) : (
          <EmptyWindow state={state} what={direction === "backward" ? "No run wrote this field" : "No run read this field"} />
        )
      }
    </Answered>
  );
}
