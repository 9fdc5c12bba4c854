import { row } from '../../db/sql.ts';
import { sweep } from '../../db/transaction.ts';
import { parseFrame } from '../../db/streams/frame-text.ts';
import { checkStream } from '../../db/streams/grammar.ts';
import { violationsOf } from '../streams/frame-validator.ts';
import { archivedFrames } from './scenario.ts';
import type { Stack } from './stack.ts';
import { until } from './temporal.ts';

/** A question as the API shows it. */
export interface Question {
  readonly id: string;
  readonly run_id: string;
  readonly root_run_id: string;
  readonly tool_call_id: string | null;
  readonly tool_slug: string | null;
  readonly reason: string;
  readonly status: string;
  readonly prompt: string;
  readonly args: Record<string, unknown> | null;
  readonly args_hash: string | null;
  readonly response_schema: Record<string, unknown> | null;
  readonly decisions: readonly string[];
  readonly critical: boolean;
  readonly approver_floor: string;
  readonly expires_at: string;
  readonly on_expiry: string;
  readonly response: unknown;
  readonly resolved_by: { readonly kind: string; readonly id: string | null } | null;
}

export interface RunFacts {
  readonly id: string;
  readonly status: string;
  readonly finish_reason: string | null;
  readonly waiting_on: string | null;
  readonly waiting_until: string | null;
  readonly pending_approvals: number;
}

export async function runOf(stack: Stack, runId: string): Promise<RunFacts> {
  return (await stack.request('GET', `/runs/${runId}`)).body;
}

export async function questionsOf(stack: Stack, runId: string, status?: string): Promise<readonly Question[]> {
  const answer = await stack.request('GET', `/runs/${runId}/approvals${status === undefined ? '' : `?status=${status}`}`);
  const page: { readonly items: readonly Question[] } = answer.body;
  return page.items;
}

interface RunRowFacts {
  readonly status: string;
  readonly waiting_on: string | null;
  readonly pending_approvals: number;
}

/** Resolves when a run's row is so; asks the database, since polling the API would use up its rate. */
export async function untilRun(stack: Stack, runId: string, isSo: (run: RunRowFacts) => boolean): Promise<void> {
  let last: RunRowFacts | null = null;
  const look = async () => {
    const found = await sweep(stack.db, (em) =>
      row<RunRowFacts>(em, 'select status, waiting_on, pending_approvals from runs where id = ?', [runId]),
    );
    if (found === null || found.status === 'failed' || found.status === 'cancelled')
      throw new Error(`the run ended: ${JSON.stringify(found)}`);
    last = found;
    return isSo(found);
  };
  await until(look).catch((error: unknown) => {
    throw new Error(`the run stayed ${JSON.stringify(last)}`, { cause: error });
  });
}

/** The pending questions of a run once it waits with so many. */
export async function pendingOf(stack: Stack, runId: string, count = 1): Promise<readonly Question[]> {
  await untilRun(stack, runId, (run) => run.status === 'waiting' && run.pending_approvals === count);
  return questionsOf(stack, runId, 'pending');
}

export type Answer = Readonly<Record<string, unknown>>;

export function resolve(stack: Stack, runId: string, resolutions: readonly Answer[], credential?: string) {
  return stack.request('POST', `/runs/${runId}/approvals`, { body: { resolutions }, ...(credential === undefined ? {} : { credential }) });
}

/** What in a run's archive breaks the protocol. */
export async function archiveFaults(stack: Stack, runId: string): Promise<string[]> {
  const frames = (await archivedFrames(stack, runId)).map(parseFrame);
  const isEnded = frames.at(-1)?.type === 'run.finished';
  return [
    ...checkStream(frames, { runId, isEnded }).map(({ seq, rule }) => `grammar at ${seq}: ${rule}`),
    ...frames.flatMap((frame) => violationsOf(frame).map((violation) => `schema at ${frame.seq}: ${violation}`)),
  ];
}
