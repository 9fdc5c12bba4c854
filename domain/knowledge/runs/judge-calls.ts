import type { KeyedBill } from '../../../db/billing/ledger/call-bill.ts';
import { settleLostCall } from '../../../db/billing/ledger/settle-embedding.ts';
import type { KnowledgeRun } from '../../../db/knowledge/runs/knowledge-run.entity.ts';
import { lockKnowledgeRun } from '../../../db/knowledge/runs/runs.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import { fail } from '../../../workflows/contracts/failure.ts';
import type { Flight, Judgement } from '../upkeep/judge.ts';

/** The calls of the judge in the current batch, by question. They stand in the run's cursor, which the commit of the batch replaces. */
export interface JudgeCalls {
  /** Answers: a retry of the batch reuses them. */
  readonly answers?: Readonly<Record<string, Judgement>>;
  /** Calls in flight. */
  readonly inFlight?: Readonly<Record<string, FlyingCall>>;
  /** How many calls of the question were lost with their worker. */
  readonly lost?: Readonly<Record<string, number>>;
}

/** The bill of a call in flight, and the workspace that pays. */
interface FlyingCall extends KeyedBill {
  readonly workspaceId: string;
}

/** A question of a run's batch. `cursor` is the position of the batch, which is stored with the call. */
export interface AskedQuestion {
  readonly runId: string;
  readonly cursor: object;
  readonly step: string;
}

/** The name under which a question is billed: a call that follows a lost one is another row of the ledger. */
export function billedStep({ lost = {} }: JudgeCalls, step: string): string {
  const calls = lost[step] ?? 0;
  return calls === 0 ? step : `${step}, after ${calls} lost`;
}

/** Stores an answer until the batch commits. Does nothing for a run that has ended meanwhile. */
export async function keepAnswer(tx: TenantTransaction, asked: AskedQuestion, answer: Judgement): Promise<void> {
  await changeCalls(tx, asked, ({ answers }) => ({ answers: { ...answers, [asked.step]: answer } }));
}

/** Returns the record of a question's call while it is in flight. */
export function flightOf(asked: AskedQuestion, workspaceId: string): Flight {
  let callKey = '';
  return {
    async begin(tx, bill) {
      ({ callKey } = bill);
      const isBegun = await changeCalls(tx, asked, ({ inFlight }) => ({
        inFlight: { ...inFlight, [asked.step]: { ...bill, workspaceId } },
      }));
      if (!isBegun) throw fail('state_conflict', { detail: 'The run has ended.' });
    },
    async end(tx) {
      await changeCalls(tx, asked, ({ inFlight = {} }) => {
        // A worker that took over has settled this call and may have another one in flight.
        if (inFlight[asked.step]?.callKey !== callKey) return {};
        return { inFlight: Object.fromEntries(Object.entries(inFlight).filter(([step]) => step !== asked.step)) };
      });
    },
  };
}

/**
 * Settles the calls that an earlier worker of a locked run had in flight when it was lost, each once and by the estimate of its prompt: the provider may have
 * billed them.
 */
export async function settleLostCalls(tx: TenantTransaction, run: KnowledgeRun): Promise<void> {
  const { inFlight = {}, lost = {} } = callsOf(run);
  const calls = Object.entries(inFlight);
  if (calls.length === 0 || run.organizationId === null) return;
  for (const [, { workspaceId, ...bill }] of calls)
    await settleLostCall(tx, bill, { source: { kind: 'maintenance', id: run.id }, organizationId: run.organizationId, workspaceId });
  const counted = Object.fromEntries(calls.map(([step]) => [step, (lost[step] ?? 0) + 1]));
  run.cursor = { ...run.cursor, inFlight: {}, lost: { ...lost, ...counted } };
}

/** Changes the calls in the cursor of a run, which it locks. Returns false, and changes nothing, when the run has ended. */
async function changeCalls(
  tx: TenantTransaction,
  { runId, cursor }: AskedQuestion,
  change: (calls: JudgeCalls) => JudgeCalls,
): Promise<boolean> {
  const run = await lockKnowledgeRun(tx, runId);
  if (run === null || run.finishedAt !== null) return false;
  const calls = callsOf(run);
  run.cursor = { ...cursor, ...calls, ...change(calls) };
  await tx.em.flush();
  return true;
}

function callsOf({ cursor }: Pick<KnowledgeRun, 'cursor'>): JudgeCalls {
  // Only this file and `noteProgress` write the cursor of a maintenance run.
  const { answers = {}, inFlight = {}, lost = {} } = (cursor ?? {}) as JudgeCalls;
  return { answers, inFlight, lost };
}
