import { appendFrames, stateBatch, type RetryNotice } from '../../../db/streams/append.ts';
import type { StepSpan } from '../../../ports/telemetry/origin.ts';
import { isTerminal } from '../../../workflows/contracts/runs/runs.ts';
import type { PromptSkill } from '../../../db/agents/effective/instructions.ts';
import type { PersonaDocument } from '../../../db/agents/personas/persona-document.ts';
import type { RevisionDocument } from '../../../db/agents/revisions/revision-document.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import { readAddedInput } from '../input/added-input.ts';
import { readHistory, type HistoryMessage } from '../../../db/runs/read/history.ts';
import { readRunTools, type RunTool } from '../../../db/runs/start/manifest-tools.ts';
import type { Manifest } from '../../../db/runs/start/manifest.ts';
import { identityOf, lockRunWithDocument, type RunState } from '../../../db/runs/run-state.ts';
import type { StepRetry } from '../../../db/runs/run-types.ts';
import { readPinnedTexts } from '../../../db/runs/steps/pinned-texts.ts';
import { type StoredStep, readStoredStep, type ClaimedRow, claimStep, holderOf } from '../../../db/runs/steps/step-tries.ts';

export interface OpenedStep {
  readonly kind: 'open';
  readonly run: RunState & { readonly manifest: Manifest };
  readonly document: RevisionDocument;
  /** The row's count of tries, this one included; fences the late writes of older tries. */
  readonly attempt: number;
  readonly retries: readonly StepRetry[];
  /** The error of the preceding try; null when there was none, or it recorded none. */
  readonly lastError: string | null;
  /** An earlier try whose worker was lost: its call may have left and is not settled. Null: there is none. */
  readonly unsettled: number | null;
  readonly history: readonly HistoryMessage[];
  readonly tools: readonly RunTool[];
  /** The pinned persona; null when the run has none. */
  readonly persona: PersonaDocument | null;
  /** Skills as the prompt names or contains them. */
  readonly skills: readonly PromptSkill[];
}

/**
 * The outcome of claiming a model step: nothing left to do, a frozen workspace, the stored result of an earlier try, an earlier try that holds the step and has
 * not ended, or the claim.
 */
export type StepClaim =
  | { readonly kind: 'ended' }
  | { readonly kind: 'frozen' }
  | { readonly kind: 'held'; readonly attempt: number }
  | StoredStep
  | OpenedStep;

export interface StepToOpen {
  readonly runId: string;
  readonly step: number;
  /** The try from which the step may be taken, which the caller knows to be given up. Null: from none. */
  readonly over?: number | null;
  /** The span of the try, for the step's row; null: nothing is traced. */
  readonly span?: StepSpan | null;
}

/** Claims a try of a model step: raises the attempt in its row and reads all that the call needs. */
export async function openModelStep(tx: TenantTransaction, { runId, step, over = null, span = null }: StepToOpen): Promise<StepClaim> {
  const run = await lockRunWithDocument(tx, runId);
  if (!run || isTerminal(run.status) || run.status === 'cancelling' || run.manifest === null) return { kind: 'ended' };

  if (run.is_frozen) return (await readStoredStep(tx, run.id, step)) ?? { kind: 'frozen' };
  const { document, manifest, ...state } = run;
  const history = () => readHistory(tx, run, document.context.keep_last_turns);
  const [stored, claimed, read] = await Promise.all([
    readStoredStep(tx, run.id, step),
    claimStep(tx, run, { step, over, span }),
    run.has_unread_input ? null : history(),
  ]);
  if (stored) return stored;
  if (!claimed) return { kind: 'held', attempt: await holderOf(tx, run.id, step) };
  const added = run.has_unread_input ? await readAddedInput(tx, run, step) : [];
  const opened: OpenedStep = {
    kind: 'open',
    run: { ...state, manifest },
    document,
    attempt: claimed.attempt,
    retries: claimed.retries,
    lastError: claimed.lastError,
    unsettled: claimed.inFlight ?? lostTry(claimed),
    history: read ?? (await history()),
    tools: await readRunTools(tx, manifest),
    ...(await readPinnedTexts(tx, manifest)),
  };
  // Streams are locked last.
  if (added.length > 0) await appendFrames(tx, [stateBatch(identityOf(run), added)]);
  return opened;
}

/** Why the answer is streamed again, for the notice before the try's first frames; null for a first try. */
export function retryNoteOf(retries: readonly StepRetry[]): RetryNotice | null {
  const last = retries.at(-1);
  return last ? { cause: last.cause, errorCode: last.error_code, delayMs: last.delay_ms } : null;
}

/** The preceding try, if its worker was lost and recorded no error. */
function lostTry({ attempt, retries }: ClaimedRow): number | null {
  const last = retries.at(-1);
  return last?.cause === 'worker_lost' && last.error_code === null && last.attempt === attempt - 1 ? last.attempt : null;
}
