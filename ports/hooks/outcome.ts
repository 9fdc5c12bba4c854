import { valueAt } from '../json/pointer.ts';

/** How a run ended, in the words of its view. */
export interface RunOutcome {
  readonly id: string;
  readonly status: string;
  readonly finish_reason: string | null;
  readonly output: { readonly text: unknown; readonly json: unknown; readonly attachments: unknown } | null;
}

/** What the sender of a hook is told of how a run ended: its output, or what the endpoint's `response_path` picks of the outcome. Undefined: nothing is there. */
export function outcomeFor({ id, status, finish_reason: finishReason, output }: RunOutcome, responsePath: string | null): unknown {
  const shown = output && { text: output.text, json: output.json, attachments: output.attachments };
  return responsePath === null ? shown : valueAt({ run_id: id, status, finish_reason: finishReason, output: shown }, responsePath);
}
