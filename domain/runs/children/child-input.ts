import { readRunFiles, toAttachmentRef, type AttachmentRef } from '../../../db/attachments/run-attachments.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import type { CallState } from '../../../db/runs/calls/call-state.ts';
import { readHistory } from '../../../db/runs/read/history.ts';
import type { RunState } from '../../../db/runs/run-state.ts';
import type { StepError } from '../../../db/runs/run-types.ts';
import type { RunInput } from '../../../db/runs/read/run-view.ts';
import { shortTurn, turnsOf } from '../../../db/runs/read/short-turns.ts';
import { prependMessage } from '../../../db/runs/children/child-rows.ts';

const summaryTurns = 20;
const maxSummaryChars = 8_000;

/** Returns the child's input from the arguments of a delegate call, or a fault when they name files that the run may not read or that are not ready. */
export async function inputOfCall(
  tx: TenantTransaction,
  call: CallState,
): Promise<{ readonly input: RunInput } | { readonly fault: StepError }> {
  const { task, input, attachments } = call.args;
  const ids = Array.isArray(attachments) ? [...new Set(attachments.map((id) => String(id).toLowerCase()))] : [];
  const files = await filesOfCall(tx, call.runId, ids);
  if (files === null)
    return {
      fault: {
        code: 'invalid_arguments',
        message: 'An attachment does not exist in this workspace or is not ready.',
        retryable: false,
        reason: 'attachments',
      },
    };
  return {
    input: {
      ...(typeof task === 'string' ? { text: task } : {}),
      ...(isObject(input) ? { json: input } : {}),
      ...(files.length === 0 ? {} : { attachments: files }),
    },
  };
}

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

async function filesOfCall(tx: TenantTransaction, runId: string, ids: readonly string[]): Promise<AttachmentRef[] | null> {
  if (ids.length === 0) return [];
  if (!ids.every((id) => uuid.test(id))) return null;
  const found = new Map((await readRunFiles(tx, runId, ids)).map((file) => [file.id, file]));
  const refs = ids.flatMap((id) => {
    const file = found.get(id);
    return file?.state === 'ready' ? [toAttachmentRef(file)] : [];
  });
  return refs.length === ids.length ? refs : null;
}

/** Prepends the earlier turns of the parent's conversation, shortened, to the child's task. */
export async function injectHistory(tx: TenantTransaction, parent: RunState, childRunId: string): Promise<void> {
  const told = tellTurns(turnsOf(await readHistory(tx, parent, summaryTurns)).map(shortTurn));
  if (told === null) return;
  await prependMessage(tx, childRunId, told);
}

/** Joins the newest turns that fit; null when there are none. */
function tellTurns(turns: readonly string[]): string | null {
  const told: string[] = [];
  let chars = 0;
  for (const turn of turns.toReversed()) {
    chars += turn.length;
    if (chars > maxSummaryChars) break;
    told.unshift(turn);
  }
  return told.length === 0 ? null : `[The conversation of the agent that asks you, shortened]\n${told.join('\n')}`;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}
