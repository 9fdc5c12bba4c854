import { valueAt } from '../json/pointer.ts';

/** The outcome of a run, in the terms of its view. */
export interface RunOutcome {
  readonly id: string;
  readonly status: string;
  readonly finish_reason: string | null;
  readonly output: { readonly text: unknown; readonly json: unknown; readonly attachments: unknown } | null;
}

/** Returns what the sender of a hook gets of a run's outcome: its output, or the value at the endpoint's `response_path`. Undefined: there is no such value. */
export function outcomeFor({ id, status, finish_reason: finishReason, output }: RunOutcome, responsePath: string | null): unknown {
  const shown = output && { text: output.text, json: output.json, attachments: output.attachments };
  return responsePath === null ? shown : valueAt({ run_id: id, status, finish_reason: finishReason, output: shown }, responsePath);
}
