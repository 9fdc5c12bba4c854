import { followedTime } from '../../db/database-clock.ts';
import type { WaitingOn } from '../../workflows/contracts/runs/runs.ts';
import { followRunChange } from '../run-changed.ts';
import { iso } from '../../db/sql.ts';
import { appendFrames, stateBatch, type FrameBatch } from '../../db/streams/append.ts';
import type { FrameDraft } from '../../db/streams/frame.schema.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import { emitRunEvent } from '../../db/triggers/events.ts';
import { identityOf, type RunState } from '../../db/runs/run-state.ts';
import { statusFrame } from '../../db/runs/status-frame.ts';
import { subAgentFrame } from '../../db/runs/children/sub-agent-frame.ts';
import { type RunFacts, readFacts, writeWaits } from '../../db/runs/wait-rows.ts';

/** A run and its ancestors, all locked (`lockRunWithAncestors`). */
export interface LockedRuns {
  readonly run: RunState;
  readonly ancestors: readonly RunState[];
}

/** What a run waits for, and when the first of its waits ends. */
export interface Wait {
  readonly on: WaitingOn;
  readonly until: Date;
}

export interface SettleOptions {
  /** Frames of the same change that come first: questions asked and answered, and results. */
  readonly lead?: readonly FrameBatch[];
  /** A wait of the run itself that no other row records. It lasts until the time `until`, or until the caller passes null. */
  readonly timer?: { readonly runId: string; readonly until: Date | null };
}

/** What a run may wait for, in the order of precedence. */
const priority: readonly WaitingOn[] = ['approval', 'input', 'client_tool', 'auth', 'budget', 'timer'];

/**
 * Recomputes from rows whether a run and then each of its ancestors is running or waiting, for what and until when, and writes the changes with their frames.
 * The code that opened or ended a wait calls it in the same transaction, after all other writes: no lock may be taken after it. Returns the runs as they are
 * now.
 */
export function settleStatus(
  tx: TenantTransaction,
  { run, ancestors }: LockedRuns,
  options: SettleOptions = {},
): Promise<ReadonlyMap<string, RunState>> {
  return settleStatuses(tx, [run, ...ancestors], options);
}

/** Does the same for several runs; the ancestors of each are among them, and all are locked. */
export async function settleStatuses(
  tx: TenantTransaction,
  runs: readonly RunState[],
  { lead = [], timer }: SettleOptions = {},
): Promise<ReadonlyMap<string, RunState>> {
  const facts = new Map((await readFacts(tx, runs)).map((found) => [found.id, found]));
  const now = followedTime(tx.em);
  const settled = new Map<string, RunState>();
  // Children first: their new state counts for their parents.
  for (const run of runs.toSorted((left, right) => right.depth - left.depth)) {
    const found = facts.get(run.id);
    if (!found) continue;
    const until = timer?.runId === run.id ? timer.until : timerOf(run);
    const wait = waitOf(found, { settled, timer: until !== null && until > now ? until : null });
    settled.set(run.id, changed(run, { wait, now, pending: found.pending }));
  }
  await write(tx, runs, settled);
  for (const run of begunToWait(runs, settled)) await emitRunEvent(tx, run, 'waiting');
  await appendFrames(tx, [...lead, ...batchesOf(runs, settled)]);
  return settled;
}

/** What the run waits for; null when one of its calls is executing, or nothing is open. */
function waitOf(
  facts: RunFacts,
  { settled, timer }: { readonly settled: ReadonlyMap<string, RunState>; readonly timer: Date | null },
): Wait | null {
  if (facts.executing > 0) return null;
  const waits: Wait[] = facts.waits.map(({ on, until }) => ({ on, until: new Date(until) }));
  if (timer !== null) waits.push({ on: 'timer', until: timer });
  for (const child of facts.children) {
    const now = settled.get(child.run_id);
    const { status, on, until } = now ? { status: now.status, on: now.waiting_on, until: now.waiting_until } : child;
    if (status !== 'waiting' || on === null || until === null) return null;
    waits.push({ on, until: new Date(until) });
  }
  const on = priority.find((one) => waits.some((wait) => wait.on === one));
  if (on === undefined) return null;
  return { on, until: new Date(Math.min(...waits.map(({ until }) => until.getTime()))) };
}

function timerOf(run: RunState): Date | null {
  return run.waiting_on === 'timer' && run.waiting_until !== null ? new Date(run.waiting_until) : null;
}

/** Only a running or waiting run changes into the other state; a cancelling or terminal run keeps its state. */
function changed(
  run: RunState,
  { wait, now, pending }: { readonly wait: Wait | null; readonly now: Date; readonly pending: number },
): RunState {
  const counted = { ...run, pending_approvals: pending };
  if (run.status !== 'running' && run.status !== 'waiting') return counted;
  const since = run.waiting_since === null ? null : new Date(run.waiting_since);
  if (wait === null) {
    const waited = since === null ? 0 : Math.max(0, now.getTime() - since.getTime());
    return { ...counted, status: 'running', waiting_on: null, waiting_until: null, waiting_since: null, waited_ms: run.waited_ms + waited };
  }
  return {
    ...counted,
    status: 'waiting',
    waiting_on: wait.on,
    waiting_until: wait.until.toISOString(),
    waiting_since: (since ?? now).toISOString(),
  };
}

async function write(tx: TenantTransaction, runs: readonly RunState[], settled: ReadonlyMap<string, RunState>): Promise<void> {
  const written = runs.flatMap((run) => {
    const now = settled.get(run.id);
    return now && (isOther(run, now) || now.pending_approvals !== run.pending_approvals) ? [now] : [];
  });
  if (written.length === 0) return;
  await writeWaits(tx, written);
  // Also when one wait follows another: a thread is asked one question after the other.
  for (const run of written) if (run.status === 'waiting') await followRunChange(tx, run);
}

/** Whether watchers get a frame: the state, what the run waits for, or until when, has changed. */
function isOther(run: RunState, now: RunState): boolean {
  if (run.status !== now.status || run.waiting_on !== now.waiting_on) return true;
  return instant(run.waiting_until) !== instant(now.waiting_until);
}

function instant(value: string | null): number | null {
  return value === null ? null : new Date(value).getTime();
}

/** Children before their parents, in the order in which they were settled; a parent's batch also names the children that began to wait. */
function batchesOf(runs: readonly RunState[], settled: ReadonlyMap<string, RunState>): FrameBatch[] {
  const begun = begunToWait(runs, settled);
  return runs
    .toSorted((left, right) => right.depth - left.depth)
    .flatMap((run) => {
      const now = settled.get(run.id) ?? run;
      const frames: FrameDraft[] = begun.filter((child) => child.parent_run_id === run.id).map(waitingFrame);
      if (isOther(run, now)) frames.push(waitFrame(run, now));
      return frames.length === 0 ? [] : [stateBatch(identityOf(run), frames)];
    });
}

function waitingFrame({
  id,
  agent_id: agentId,
  agent_revision_id: agentRevisionId,
  parent_tool_call_id: parentToolCallId,
  status,
}: RunState) {
  return subAgentFrame({ id, agentId, agentRevisionId, parentToolCallId, status }, 'waiting');
}

function begunToWait(runs: readonly RunState[], settled: ReadonlyMap<string, RunState>): RunState[] {
  return runs.flatMap((run) => {
    const now = settled.get(run.id);
    return now?.status === 'waiting' && run.status !== 'waiting' ? [now] : [];
  });
}

function waitFrame(run: RunState, now: RunState): FrameDraft {
  return statusFrame({
    status: now.status,
    previous: run.status,
    waitingOn: now.waiting_on,
    waitingUntil: now.waiting_until === null ? null : iso(now.waiting_until),
  });
}
