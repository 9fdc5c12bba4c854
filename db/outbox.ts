import { followedTime } from './database-clock.ts';
import { type Selectable, sql } from 'kysely';
import { activeOriginText } from '../ports/telemetry/origin.ts';
import type { OutboxMessage } from '../workflows/contracts/outbox.ts';
import { newId } from './ids.ts';
import { prepared, type ParametersOf } from './prepared.ts';
import { query } from './query.ts';
import { change, rows, queueStatement } from './sql.ts';
import type { Tables } from './table-types.ts';
import type { TenantTransaction } from './tenant-transaction.ts';

export interface OutboxOptions {
  /** Id of the row; generated here unless something was already derived from it. */
  readonly id?: string;
  /** One row per kind and key until that row is swept: writing the key again changes nothing. */
  readonly dedupeKey: string;
  /** The message is not sent before this time; the outbox relay then sends it. */
  readonly notBefore?: Date;
}

/** A message's row as it is written; the remaining columns have defaults. */
type NewRow = Pick<Selectable<Tables['outbox']>, 'id' | 'organizationId' | 'workspaceId' | 'kind' | 'dedupeKey' | 'target'>;

/** `payload` as JSON. */
interface Written extends NewRow {
  readonly payload: string;
  readonly notBefore: Date | null;
}

const insertOne = prepared(({ payload, notBefore, ...given }: ParametersOf<Written>) =>
  query
    .insertInto('outbox')
    .values({
      ...given,
      payload: sql<OutboxMessage>`${payload}::jsonb`,
      notBefore: sql<string>`coalesce(${notBefore}::timestamptz, now())`,
      sentAt: null,
      lastError: null,
    })
    .onConflict((conflict) => conflict.doNothing()),
);

/** Writes a message that leaves the process after the commit and records it in `tx.outgoing`. Returns the id, or null when the key was already written. */
export async function addOutbox(
  tx: TenantTransaction,
  message: OutboxMessage,
  { id = newId(), dedupeKey, notBefore }: OutboxOptions,
): Promise<string | null> {
  const [organizationId, workspaceId] = rowScopeOf(tx, message);
  const given = { id, organizationId, workspaceId, kind: message.kind, dedupeKey, target: message.workflowId };
  const written = await change(tx.em, insertOne({ ...given, payload: JSON.stringify(traced(message)), notBefore: notBefore ?? null }));
  if (written === 0) return null;

  if (!notBefore || notBefore <= followedTime(tx.em)) tx.outgoing.outboxIds.push(id);
  return id;
}

interface OutboxDraft {
  readonly message: OutboxMessage;
  readonly dedupeKey: string;
}

const draftColumns = ['id', 'organizationId', 'workspaceId', 'kind', 'dedupeKey', 'target', 'payload'] as const;

const insertAll = prepared(({ entries }: ParametersOf<{ readonly entries: string }>) =>
  query
    .insertInto('outbox')
    .columns([...draftColumns, 'notBefore'])
    .expression(
      query
        .selectFrom(
          sql<NewRow & { payload: OutboxMessage }>`jsonb_to_recordset(${entries}::jsonb)`.as<'d'>(
            sql`d (id uuid, organization_id uuid, workspace_id uuid, kind text, dedupe_key text, target text, payload jsonb)`,
          ),
        )
        .select(draftColumns)
        .select(sql<string>`now()`.as('notBefore')),
    )
    .onConflict((conflict) => conflict.doNothing())
    .returning('id'),
);

/** Writes several messages in one statement, each under its own key. Returns the ids of those that were not already written. */
export async function addOutboxAll(tx: TenantTransaction, entries: readonly OutboxDraft[]): Promise<string[]> {
  if (entries.length === 0) return [];
  const written = await rows(tx.em, insertAll({ entries: JSON.stringify(entries.map((entry) => outboxRow(tx, entry))) }));
  const ids = written.map(({ id }) => id);
  tx.outgoing.outboxIds.push(...ids);
  return ids;
}

/** Returns a message's row for a statement that writes it along with others and records its id in `tx.outgoing`. The remaining columns have defaults. */
export function outboxRow(tx: TenantTransaction, { message, dedupeKey }: OutboxDraft) {
  const [organizationId, workspaceId] = rowScopeOf(tx, message);
  return {
    id: newId(),
    organization_id: organizationId,
    workspace_id: workspaceId,
    kind: message.kind,
    dedupe_key: dedupeKey,
    target: message.workflowId,
    payload: traced(message),
  };
}

/** Adds the trace in which a start is written, so that its workflow continues it. */
function traced(message: OutboxMessage): OutboxMessage {
  if (message.kind !== 'workflow.start') return message;
  const trace = activeOriginText();
  return trace === undefined ? message : { ...message, trace };
}

const withdraw = prepared(({ dedupeKeys }: ParametersOf<{ readonly dedupeKeys: readonly string[] }>) =>
  query
    .updateTable('outbox')
    .set({ sentAt: sql<string>`now()`, lastError: 'withdrawn' })
    .where('kind', '=', sql.lit('workflow.start'))
    .where(sql<boolean>`dedupe_key = any(${dedupeKeys}::text[])`)
    .where('sentAt', 'is', null),
);

/** Withdraws unsent starts, by their keys, when what they would start is no longer wanted. The statement goes with the next one. */
export async function withdrawStarts(tx: TenantTransaction, dedupeKeys: readonly string[]): Promise<void> {
  await queueStatement(tx.em, withdraw({ dedupeKeys: [...dedupeKeys] }));
}

// A start belongs to the tenant of its workflow, a mail to the tenant of its recipient; other messages to the transaction's tenant.
function rowScopeOf(tx: TenantTransaction, message: OutboxMessage): [string | null, string | null] {
  if (message.kind === 'workflow.start' || message.kind === 'mail') return [message.organizationId, message.workspaceId];
  const { organizationId, workspaceIds, hasAllWorkspaces } = tx.tenant;
  return [organizationId, organizationId && !hasAllWorkspaces && workspaceIds.length === 1 ? (workspaceIds[0] ?? null) : null];
}
