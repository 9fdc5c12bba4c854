import type { CallApproval } from '../../../workflows/contracts/runs/approvals.ts';
import { sql } from 'kysely';
import { anyId, clockTime, literals, now } from '../../expressions.ts';
import { newId } from '../../ids.ts';
import { insertFrom } from '../../insert-from.ts';
import { jsonb, jsonText, type JsonText } from '../../json-text.ts';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { stepKindOf, type CallState } from './call-state.ts';
import { change, row } from '../../sql.ts';
import { noRetries } from '../steps/retries.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';

/** The approval that a call needs. */
export interface RequiredApproval {
  readonly callId: string;
  readonly gate: CallApproval;
  /** The call is critical from now on. A call that was critical stays critical. */
  readonly isCritical: boolean;
  /** Only while this try holds the call; null: whichever try holds it. */
  readonly attempt: number | null;
}

interface Marked extends Omit<RequiredApproval, 'attempt'> {
  readonly attempt: number | undefined;
}

const marked = prepared(({ callId, gate, isCritical, attempt }: ParametersOf<Marked>) => {
  const call = query
    .updateTable('tool_calls')
    .set(({ ref }) => ({ state: 'recorded', gate, critical: sql<boolean>`${ref('critical')} or ${isCritical}` }))
    .where('id', '=', callId)
    .where('state', 'in', literals('ready', 'executing'));
  return attempt ? call.where('attempt', '=', attempt).where('state', '=', sql.lit('executing')) : call;
});

/** Makes a ready or executing call await approval. Returns false when it is neither, or when another try holds it. */
export async function markForApproval(tx: TenantTransaction, { callId, gate, isCritical, attempt }: RequiredApproval): Promise<boolean> {
  return (await change(tx.em, marked({ callId, gate, isCritical, attempt: attempt ?? undefined }))) > 0;
}

const gated = prepared(({ callIds }: ParametersOf<{ readonly callIds: readonly string[] }>) =>
  query.updateTable('tool_calls').set({ state: 'gated' }).where('id', '=', anyId(callIds)),
);

/** Marks calls as waiting for the answers to their questions. */
export async function setGated(tx: TenantTransaction, callIds: readonly string[]): Promise<void> {
  await change(tx.em, gated({ callIds }));
}

interface ReadyCall {
  readonly callId: string;
  readonly args: JsonText<Readonly<Record<string, unknown>>>;
  readonly argsHash: string;
}

const ready = prepared(({ callId, args, argsHash }: ParametersOf<ReadyCall>) =>
  query
    .updateTable('tool_calls')
    .set({ state: 'ready', args: jsonb(args), argsHash })
    .where('id', '=', callId),
);

/** Makes a call ready to execute, with these arguments. */
export async function setReady(
  tx: TenantTransaction,
  callId: string,
  { args, argsHash }: { readonly args: Readonly<Record<string, unknown>>; readonly argsHash: string },
): Promise<void> {
  await change(tx.em, ready({ callId, args: jsonText(args), argsHash }));
}

interface OpenedStep {
  readonly callId: string;
  readonly stepId: string;
  readonly kind: ReturnType<typeof stepKindOf>;
}

const opened = prepared(({ callId, stepId, kind }: ParametersOf<OpenedStep>) =>
  query
    .with('opened', (of) =>
      of
        .updateTable('tool_calls')
        .set(({ ref }) => ({ deadlineAt: sql<string>`clock_timestamp() + make_interval(secs => ${ref('timeoutS')})` }))
        .where('id', '=', callId)
        .returning(['id', 'organizationId', 'workspaceId', 'runId', 'step', 'slug', 'attempt', 'messageId', 'args', 'deadlineAt']),
    )
    .with('step', (of) =>
      insertFrom('run_steps', of.selectFrom('opened as o'), ({ ref }) => ({
        id: stepId,
        organizationId: ref('o.organizationId'),
        workspaceId: ref('o.workspaceId'),
        runId: ref('o.runId'),
        step: ref('o.step'),
        kind,
        name: ref('o.slug'),
        status: sql.lit('running'),
        attempt: sql<number>`greatest(1, ${ref('o.attempt')})`,
        toolCallId: ref('o.id'),
        messageId: ref('o.messageId'),
        args: ref('o.args'),
        retries: noRetries,
        startedAt: clockTime,
        createdAt: now,
      })).onConflict((conflict) => conflict.columns(['runId', 'step', 'toolCallId']).doNothing()),
    )
    .selectFrom('opened')
    .select('deadlineAt'),
);

/** Starts the time that a client has for its call, and opens the call's step. Returns the end of that time, or null when the call does not exist. */
export async function openForClient(tx: TenantTransaction, call: Pick<CallState, 'id' | 'kind'>): Promise<string | null> {
  const found = await row(tx.em, opened({ callId: call.id, stepId: newId(), kind: stepKindOf(call.kind) }));
  return found?.deadlineAt ?? null;
}
