import { followedTime } from '../../database-clock.ts';
import type { RetryCause } from '../../streams/frame.schema.ts';
import { appendFrames, stateBatch, type RetryNote } from '../../streams/append.ts';
import { isTerminal } from '../../../workflows/contracts/runs.ts';
import type { PromptSkill } from '../../agents/instructions.ts';
import type { PersonaDocument } from '../../agents/persona-document.ts';
import type { RevisionDocument } from '../../agents/revision-document.ts';
import { newId } from '../../ids.ts';
import { row, rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import { readAddedInput } from '../input/added-input.ts';
import { readHistory, type HistoryMessage } from '../read/history.ts';
import { readRunTools, type RunTool } from '../start/manifest-tools.ts';
import type { Manifest } from '../start/manifest.ts';
import { retriesWithLost } from './retries.ts';
import { readPlannedCalls, type StoredCall } from '../calls/planned-calls.ts';
import { identityOf, lockRunWithDocument, type RunState } from '../run-state.ts';
import type { StepFault, StepRetry } from '../run-types.ts';
import type { StopReason } from '../run-frames.ts';

export interface OpenedStep {
  readonly kind: 'open';
  readonly run: RunState & { readonly manifest: Manifest };
  readonly document: RevisionDocument;
  /** The row's count of tries, this one included; fences what an older try still writes. */
  readonly attempt: number;
  readonly retries: readonly StepRetry[];
  /** What the try before this one failed with; null when none did, or it said nothing. */
  readonly lastError: string | null;
  /** An earlier try whose worker was lost: its call may have left and is not settled. Null: there is none. */
  readonly unsettled: number | null;
  readonly history: readonly HistoryMessage[];
  readonly tools: readonly RunTool[];
  /** The pinned persona; null when the run wears none. */
  readonly persona: PersonaDocument | null;
  /** Skills as the prompt names or holds them. */
  readonly skills: readonly PromptSkill[];
}

/**
 * What claiming a model step finds: nothing to do any more, a place that takes no more work, a result that an earlier try has stored, an earlier try
 * that holds it and has not said its end, or the claim.
 */
export type StepClaim =
  | { readonly kind: 'ended' }
  | { readonly kind: 'frozen' }
  | { readonly kind: 'held'; readonly attempt: number }
  | { readonly kind: 'stored'; readonly stopReason: StopReason; readonly calls: readonly StoredCall[] }
  | OpenedStep;

export interface StepToOpen {
  readonly runId: string;
  readonly step: number;
  /** The try that it may be taken from: whoever asks knows that nobody waits for that one. Null: from none. */
  readonly over?: number | null;
}

/** Claims the try of a model step: raises the attempt in its row and reads all that the call needs. */
export async function openModelStep(tx: TenantTransaction, { runId, step, over = null }: StepToOpen): Promise<StepClaim> {
  const run = await lockRunWithDocument(tx, runId);
  if (!run || isTerminal(run.status) || run.status === 'cancelling' || run.manifest === null) return { kind: 'ended' };

  if (run.is_frozen) return (await readStoredStep(tx, run.id, step)) ?? { kind: 'frozen' };
  const { document, manifest, ...state } = run;
  const history = () => readHistory(tx, run, document.context.keep_last_turns);
  const [stored, claimed, read] = await Promise.all([
    readStoredStep(tx, run.id, step),
    claimStep(tx, run, { step, over }),
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
    lastError: claimed.last_error,
    unsettled: claimed.in_flight ?? lostTry(claimed),
    history: read ?? (await history()),
    tools: await readRunTools(tx, manifest),
    ...(await readPinnedTexts(tx, manifest)),
  };
  // The streams are locked last.
  if (added.length > 0) await appendFrames(tx, [stateBatch(identityOf(run), added)]);
  return opened;
}

/** The texts that a manifest pins by version: the persona, and the skills that are always in the prompt. */
async function readPinnedTexts(
  tx: TenantTransaction,
  { persona = null, skills = [] }: Manifest,
): Promise<{ persona: PersonaDocument | null; skills: PromptSkill[] }> {
  const always = skills.filter(({ mode }) => mode === 'always');
  const listed = (textOf: (skillId: string) => string | null) =>
    skills.map(({ skill_id, slug, description, mode }) => ({
      slug,
      description,
      text: mode === 'always' ? (textOf(skill_id) ?? '') : null,
    }));
  if (persona === null && always.length === 0) return { persona: null, skills: listed(() => null) };

  const found = await row<{ persona: PersonaDocument | null; texts: Record<string, string> | null }>(
    tx.em,
    `select (select v.document from persona_versions v where v.persona_id = ?::uuid and v.version = ?::int) as persona,
            (select jsonb_object_agg(s.skill_id, s.instructions) from skill_versions s
               join unnest(?::uuid[], ?::int[]) as pin (skill_id, version) on pin.skill_id = s.skill_id and pin.version = s.version) as texts`,
    [persona?.id ?? null, persona?.version ?? null, always.map(({ skill_id }) => skill_id), always.map(({ version }) => version)],
  );
  return { persona: found?.persona ?? null, skills: listed((skillId) => found?.texts?.[skillId] ?? null) };
}

/** Why the try speaks anew, for the announcement before its first frames; null for a first try. */
export function retryNoteOf(retries: readonly StepRetry[]): RetryNote | null {
  const last = retries.at(-1);
  return last ? { cause: last.cause, errorCode: last.error_code, delayMs: last.delay_ms } : null;
}

export interface FailedTry {
  readonly runId: string;
  readonly step: number;
  readonly attempt: number;
  readonly cause: RetryCause;
  readonly fault: StepFault;
  readonly delayMs: number;
}

/** Records why a try failed, so that the next one can say it and tries are counted by cause. False: a later try has the step. */
export async function recordFailedTry(tx: TenantTransaction, failed: FailedTry): Promise<boolean> {
  const retry = {
    attempt: failed.attempt,
    cause: failed.cause,
    error_code: failed.fault.code,
    at: followedTime(tx.em).toISOString(),
    delay_ms: failed.delayMs,
  };
  const updated = await rows(
    tx.em,
    `update run_steps set status = 'failed', error = ?::jsonb, retries = retries || ?::jsonb, finished_at = clock_timestamp(),
            duration_ms = extract(epoch from clock_timestamp() - started_at) * 1000
      where run_id = ? and step = ? and tool_call_id is null and attempt = ? and status = 'running' returning id`,
    [JSON.stringify(failed.fault), JSON.stringify([retry]), failed.runId, failed.step, failed.attempt],
  );
  return updated.length === 1;
}

const storedStepSql = `select id, stop_reason from messages where run_id = ? and step = ? and role = 'assistant' and stop_reason is not null`;

async function readStoredStep(tx: TenantTransaction, runId: string, step: number): Promise<StepClaim | null> {
  const message = await row<{ id: string; stop_reason: StopReason }>(tx.em, storedStepSql, [runId, step]);
  if (!message) return null;
  return { kind: 'stored', stopReason: message.stop_reason, calls: await readPlannedCalls(tx, message.id) };
}

interface ClaimedRow {
  readonly attempt: number;
  readonly retries: StepRetry[];
  readonly last_error: string | null;
  readonly in_flight: number | null;
}

/** The try before this one, where it left no word. */
function lostTry({ attempt, retries }: ClaimedRow): number | null {
  const last = retries.at(-1);
  return last?.cause === 'worker_lost' && last.error_code === null && last.attempt === attempt - 1 ? last.attempt : null;
}

/** Null where an earlier try has stored the step, or holds it and is not `over`. One with an entry in `retries` has said its end. */
function claimStep(
  tx: TenantTransaction,
  run: RunState,
  { step, over }: { readonly step: number; readonly over: number | null },
): Promise<ClaimedRow | null> {
  return row<ClaimedRow>(
    tx.em,
    `insert into run_steps as s (id, organization_id, workspace_id, run_id, step, kind, name, status, attempt, retries, started_at, created_at)
     select ?, ?, ?, ?, ?, 'model', ?, 'running', 1, '[]', clock_timestamp(), now() where not exists (${storedStepSql})
     on conflict (run_id, step, tool_call_id) do update
       set attempt = s.attempt + 1, status = 'running', error = null, first_token_at = null, finished_at = null, duration_ms = null, started_at = clock_timestamp(),
           retries = ${retriesWithLost}
       where s.status <> 'running' or jsonb_array_length(s.retries) >= s.attempt or s.attempt = ?::int
     returning attempt, retries, old.error ->> 'message' as last_error, (s.in_flight ->> 'attempt')::int as in_flight`,
    [newId(), run.organization_id, run.workspace_id, run.id, step, run.manifest?.models[0] ?? 'model', run.id, step, over],
  );
}

async function holderOf(tx: TenantTransaction, runId: string, step: number): Promise<number> {
  const held = await row<{ attempt: number }>(
    tx.em,
    'select attempt from run_steps where run_id = ? and step = ? and tool_call_id is null',
    [runId, step],
  );
  if (!held) throw new Error('the claim of a step gave no row');
  return held.attempt;
}

/** How many calls the run has made so far, by slug. */
export async function readCallsMade(tx: TenantTransaction, runId: string): Promise<Map<string, number>> {
  const counted = await rows<{ slug: string; calls: number }>(
    tx.em,
    'select slug, count(*)::int as calls from tool_calls where run_id = ? group by slug',
    [runId],
  );
  return new Map(counted.map((row) => [row.slug, row.calls]));
}
