import { type NotNull, sql } from 'kysely';
import { now } from '../expressions.ts';
import type { ToolkitRevisionOrigin, ToolkitRevisionState } from '../../workflows/contracts/tools/toolkit-sync.ts';
import type { ActorRef } from '../actor-ref.ts';
import { newId } from '../ids.ts';
import { prepared, type ParametersOf } from '../prepared.ts';
import { query } from '../query.ts';
import { change, row, rows } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import type { LeftOut } from './left-out.ts';
import type { ToolkitChange, ToolkitTool } from './toolkit-tool.ts';

/** A toolkit and its tenant; its revisions and tools carry the same. */
export interface ToolkitScope {
  readonly id: string;
  readonly organizationId: string | null;
  readonly workspaceId: string | null;
}

/** A revision that has just been written. */
export interface OpenedRevision {
  readonly id: string;
  readonly number: number;
}

/** A revision whose sync is to end, with the tools now in force; it is locked, and its toolkit too. */
export type OpenSync = NonNullable<Awaited<ReturnType<typeof lockSync>>>;
/** A tool of a toolkit as it is in force. */
export type ToolInForce = Awaited<ReturnType<typeof toolsInForce>>[number];

/** The result of a sync or of a source. */
export interface RevisionContent {
  readonly state: ToolkitRevisionState;
  readonly tools: readonly ToolkitTool[];
  readonly diff: readonly ToolkitChange[];
  readonly sourceHash: string | null;
  /** For people. */
  readonly error: string | null;
  readonly leftOut: readonly LeftOut[];
  readonly leftOutCount: number;
}

/** What an MCP server reported about itself. */
export interface ServerFacts {
  readonly server: Record<string, unknown> | null;
  readonly protocolVersion: string | null;
}

/** Returns the number of the next revision of a toolkit. */
function nextNumber(toolkitId: string) {
  return query
    .selectFrom('toolkit_revisions as n')
    .select(({ eb, fn, lit }) => eb(fn.coalesce(fn.max('n.number'), lit(0)), '+', 1).as('next'))
    .where('n.toolkitId', '=', toolkitId);
}

/** Fails the running sync of a toolkit, if there is one; with `olderThan` (an interval of PostgreSQL) only one that was begun longer ago. */
export async function failSyncing(
  tx: TenantTransaction,
  toolkitId: string,
  { error, olderThan = null }: { readonly error: string; readonly olderThan?: string | null },
): Promise<void> {
  const syncing = query
    .updateTable('toolkit_revisions')
    .set({ state: 'failed', error, updatedAt: now })
    .where('toolkitId', '=', toolkitId)
    .where('state', '=', 'syncing');
  await change(tx.em, olderThan === null ? syncing : syncing.where('createdAt', '<', sql<string>`now() - ${olderThan}::interval`));
}

/** Stores a revision in state syncing with the next number; returns null while another is syncing. */
export async function insertSyncing(
  tx: TenantTransaction,
  { id: toolkitId, organizationId, workspaceId }: ToolkitScope,
  { note, createdBy }: { readonly note: string | null; readonly createdBy: ActorRef },
): Promise<OpenedRevision | null> {
  const fresh = { id: newId(), toolkitId, organizationId, workspaceId, number: nextNumber(toolkitId), createdAt: now, updatedAt: now };
  return row(
    tx.em,
    query
      .insertInto('toolkit_revisions')
      .values({ ...fresh, state: 'syncing', origin: 'sync', note, createdBy })
      .onConflict((conflict) => conflict.column('toolkitId').where('state', '=', sql.lit('syncing')).doNothing())
      .returning(['id', 'number']),
  );
}

/** Locks a revision and, before it, its toolkit: no activation can happen until the transaction ends. The toolkit's lock comes first everywhere. */
export async function lockSync(tx: TenantTransaction, revisionId: string) {
  const toolkitId = query.selectFrom('toolkit_revisions as v').select('v.toolkitId').where('v.id', '=', revisionId);
  await row(tx.em, query.selectFrom('toolkits as k').select('k.id').where('k.id', '=', toolkitId).forUpdate());
  return row(
    tx.em,
    query
      .selectFrom('toolkit_revisions as v')
      .innerJoin('toolkits as k', 'k.id', 'v.toolkitId')
      .leftJoin('toolkit_revisions as a', 'a.id', 'k.activeRevisionId')
      .select(['v.toolkitId', 'v.state', 'v.quarantined', 'a.tools as activeTools'])
      .select(({ ref }) => sql<string | null>`${ref('k.config')} ->> 'on_change'`.as('onChange'))
      .where('v.id', '=', revisionId)
      .forUpdate('v'),
  );
}

/** Stores the result of a sync, and which tools it quarantined. */
export async function storeSync(
  tx: TenantTransaction,
  revisionId: string,
  found: RevisionContent & ServerFacts & { readonly quarantined: readonly string[] },
): Promise<void> {
  await change(
    tx.em,
    query
      .updateTable('toolkit_revisions')
      .set({
        ...contentOf(found),
        quarantined: [...found.quarantined],
        server: found.server,
        protocolVersion: found.protocolVersion,
        updatedAt: now,
      })
      .where('id', '=', revisionId),
  );
}

/** Stores a complete revision with the next number. */
export async function insertRevisionRow(
  tx: TenantTransaction,
  { id: toolkitId, organizationId, workspaceId }: ToolkitScope,
  made: RevisionContent & { readonly origin: ToolkitRevisionOrigin; readonly note: string | null; readonly createdBy: ActorRef },
): Promise<OpenedRevision> {
  const { origin, note, createdBy } = made;
  const fresh = { id: newId(), toolkitId, organizationId, workspaceId, number: nextNumber(toolkitId), createdAt: now, updatedAt: now };
  const inserted = await row(
    tx.em,
    query
      .insertInto('toolkit_revisions')
      .values({ ...fresh, ...contentOf(made), origin, note, createdBy })
      .returning(['id', 'number']),
  );
  if (!inserted) throw new Error('A revision of a toolkit was written and is not visible');
  return inserted;
}

function contentOf({ state, tools, diff, sourceHash, error, leftOut, leftOutCount }: RevisionContent) {
  return { state, tools: [...tools], diff: [...diff], sourceHash, error, leftOut: [...leftOut], leftOutCount };
}

/** Makes a revision the active one of its toolkit; the previous one becomes superseded. */
export async function switchActiveRevision(tx: TenantTransaction, toolkitId: string, revisionId: string): Promise<void> {
  await change(
    tx.em,
    query
      .updateTable('toolkit_revisions')
      .set({ state: 'superseded', updatedAt: now })
      .where('toolkitId', '=', toolkitId)
      .where('state', '=', 'active'),
  );
  await change(
    tx.em,
    query.updateTable('toolkit_revisions').set({ state: 'active', activatedAt: now, updatedAt: now }).where('id', '=', revisionId),
  );
}

const activeTools = prepared(({ toolkitId }: ParametersOf<{ toolkitId: string }>) =>
  query
    .selectFrom('toolkits as k')
    .innerJoin('toolkit_revisions as v', 'v.id', 'k.activeRevisionId')
    .select('v.tools')
    .where('k.id', '=', toolkitId),
);

/** Returns the tools of the active revision; none without one. */
export async function readActiveTools(tx: TenantTransaction, toolkitId: string): Promise<readonly ToolkitTool[]> {
  return (await row(tx.em, activeTools({ toolkitId })))?.tools ?? [];
}

const heldTools = prepared(({ toolkitId }: ParametersOf<{ toolkitId: string }>) =>
  query
    .selectFrom('tools as t')
    .select(['t.remoteName as name', 't.remoteHash as hash'])
    .select(({ eb }) => eb('t.quarantinedAt', 'is not', null).as('isQuarantined'))
    .where('t.toolkitId', '=', toolkitId)
    .where('t.deletedAt', 'is', null)
    .orderBy('t.remoteName')
    // A tool of a toolkit always has a remote name.
    .$narrowType<{ name: NotNull }>(),
);

/** Returns the tools of a toolkit, with their names in the toolkit. */
export async function toolsInForce(tx: TenantTransaction, toolkitId: string) {
  return rows(tx.em, heldTools({ toolkitId }));
}

/** Quarantines tools, by their names in the toolkit. */
export async function quarantineTools(tx: TenantTransaction, toolkitId: string, names: readonly string[]): Promise<void> {
  if (names.length === 0) return;
  await change(
    tx.em,
    query
      .updateTable('tools')
      .set(({ eb }) => ({ quarantinedAt: now, rowVersion: eb('rowVersion', '+', 1), updatedAt: now }))
      .where('toolkitId', '=', toolkitId)
      .where('remoteName', 'in', names)
      .where('deletedAt', 'is', null)
      .where('quarantinedAt', 'is', null),
  );
}
