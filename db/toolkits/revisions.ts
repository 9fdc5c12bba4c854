import type { ToolkitRevisionOrigin, ToolkitRevisionState } from '../../workflows/contracts/toolkits.ts';
import type { ActorRef } from '../actor-ref.ts';
import { newId } from '../ids.ts';
import { change, row, rows } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import type { LeftOut } from './left-out.ts';
import type { ToolkitChange, ToolkitTool } from './toolkit-tool.ts';

/** Where a toolkit lives; its revisions and tools carry the same. */
export interface ToolkitHome {
  readonly id: string;
  readonly organizationId: string | null;
  readonly workspaceId: string | null;
}

/** A revision that has just been written. */
export interface OpenedRevision {
  readonly id: string;
  readonly number: number;
}

/** A revision whose sync is to end, with what is in force beside it; locked, and its toolkit too. */
export interface OpenSync {
  readonly toolkit_id: string;
  readonly state: ToolkitRevisionState;
  readonly quarantined: string[];
  readonly on_change: string | null;
  readonly active_tools: ToolkitTool[] | null;
}

/** A tool of a toolkit as it is in force. */
export interface ToolInForce {
  readonly name: string;
  readonly hash: string | null;
  readonly is_quarantined: boolean;
}

/** What a sync or a source gave. */
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

/** What an MCP server told of itself. */
export interface ServerFacts {
  readonly server: Record<string, unknown> | null;
  readonly protocolVersion: string | null;
}

const nextNumber = '(select coalesce(max(n.number), 0) + 1 from toolkit_revisions n where n.toolkit_id = ?::uuid)';

/** Fails the sync of a toolkit that is under way, if there is one; with `olderThan` (an interval of PostgreSQL) only one that was begun so long ago. */
export async function failSyncing(
  tx: TenantTransaction,
  toolkitId: string,
  { error, olderThan = null }: { readonly error: string; readonly olderThan?: string | null },
): Promise<void> {
  await change(
    tx.em,
    `update toolkit_revisions set state = 'failed', error = ?, updated_at = now()
      where toolkit_id = ? and state = 'syncing' and (?::interval is null or created_at < now() - ?::interval)`,
    [error, toolkitId, olderThan, olderThan],
  );
}

/** Writes a revision in state syncing with the next number; null while another is. */
export function insertSyncing(
  tx: TenantTransaction,
  toolkit: ToolkitHome,
  { note, createdBy }: { readonly note: string | null; readonly createdBy: ActorRef },
): Promise<OpenedRevision | null> {
  return row<OpenedRevision>(
    tx.em,
    `insert into toolkit_revisions (id, toolkit_id, organization_id, workspace_id, number, state, origin, note, created_by)
     select ?::uuid, ?::uuid, ?::uuid, ?::uuid, ${nextNumber}, 'syncing', 'sync', ?::text, ?::jsonb
     on conflict (toolkit_id) where state = 'syncing' do nothing returning id, number`,
    [newId(), toolkit.id, toolkit.organizationId, toolkit.workspaceId, toolkit.id, note, JSON.stringify(createdBy)],
  );
}

/** Locks a revision and, before it, its toolkit: no activation passes until the transaction ends. The toolkit's lock comes first everywhere. */
export async function lockSync(tx: TenantTransaction, revisionId: string): Promise<OpenSync | null> {
  await row(tx.em, 'select k.id from toolkits k where k.id = (select v.toolkit_id from toolkit_revisions v where v.id = ?) for update', [
    revisionId,
  ]);
  return row<OpenSync>(
    tx.em,
    `select v.toolkit_id, v.state, v.quarantined, k.config ->> 'on_change' as on_change, a.tools as active_tools
       from toolkit_revisions v join toolkits k on k.id = v.toolkit_id left join toolkit_revisions a on a.id = k.active_revision_id
      where v.id = ? for update of v`,
    [revisionId],
  );
}

/** Stores what a sync gave, and which tools it took out of service. */
export async function storeSync(
  tx: TenantTransaction,
  revisionId: string,
  found: RevisionContent & ServerFacts & { readonly quarantined: readonly string[] },
): Promise<void> {
  await change(
    tx.em,
    `update toolkit_revisions set state = ?, tools = ?::jsonb, diff = ?::jsonb, quarantined = ?::text[], source_hash = ?, server = ?::jsonb,
       protocol_version = ?, error = ?, left_out = ?::jsonb, left_out_count = ?, updated_at = now() where id = ?`,
    [
      found.state,
      JSON.stringify(found.tools),
      JSON.stringify(found.diff),
      [...found.quarantined],
      found.sourceHash,
      found.server === null ? null : JSON.stringify(found.server),
      found.protocolVersion,
      found.error,
      JSON.stringify(found.leftOut),
      found.leftOutCount,
      revisionId,
    ],
  );
}

/** Writes a whole revision with the next number. */
export async function insertRevisionRow(
  tx: TenantTransaction,
  toolkit: ToolkitHome,
  made: RevisionContent & { readonly origin: ToolkitRevisionOrigin; readonly note: string | null; readonly createdBy: ActorRef },
): Promise<OpenedRevision> {
  const inserted = await row<OpenedRevision>(
    tx.em,
    `insert into toolkit_revisions (id, toolkit_id, organization_id, workspace_id, number, state, origin, tools, diff, source_hash, error, left_out, left_out_count,
       note, created_by)
     select ?::uuid, ?::uuid, ?::uuid, ?::uuid, ${nextNumber}, ?, ?, ?::jsonb, ?::jsonb, ?, ?::text, ?::jsonb, ?::integer, ?::text, ?::jsonb
     returning id, number`,
    [
      newId(),
      toolkit.id,
      toolkit.organizationId,
      toolkit.workspaceId,
      toolkit.id,
      made.state,
      made.origin,
      JSON.stringify(made.tools),
      JSON.stringify(made.diff),
      made.sourceHash,
      made.error,
      JSON.stringify(made.leftOut),
      made.leftOutCount,
      made.note,
      JSON.stringify(made.createdBy),
    ],
  );
  if (!inserted) throw new Error('A revision of a toolkit was written and is not visible');
  return inserted;
}

/** Makes a revision the active one of its toolkit; the one before becomes superseded. */
export async function switchActiveRevision(tx: TenantTransaction, toolkitId: string, revisionId: string): Promise<void> {
  await change(tx.em, "update toolkit_revisions set state = 'superseded', updated_at = now() where toolkit_id = ? and state = 'active'", [
    toolkitId,
  ]);
  await change(tx.em, "update toolkit_revisions set state = 'active', activated_at = now(), updated_at = now() where id = ?", [revisionId]);
}

/** The tools of the active revision; none without one. */
export async function readActiveTools(tx: TenantTransaction, toolkitId: string): Promise<readonly ToolkitTool[]> {
  const active = await row<{ tools: ToolkitTool[] }>(
    tx.em,
    'select v.tools from toolkits k join toolkit_revisions v on v.id = k.active_revision_id where k.id = ?',
    [toolkitId],
  );
  return active?.tools ?? [];
}

/** A revision whose sync is under way. */
export interface OpenSyncRow {
  readonly id: string;
  readonly created_by: ActorRef;
}

/** The open sync of a toolkit: there is one at most. */
export function readOpenSync(tx: TenantTransaction, toolkitId: string): Promise<OpenSyncRow | null> {
  return row<OpenSyncRow>(tx.em, "select id, created_by from toolkit_revisions where toolkit_id = ? and state = 'syncing'", [toolkitId]);
}

/** The tools of a toolkit, by name. */
export function toolsInForce(tx: TenantTransaction, toolkitId: string): Promise<ToolInForce[]> {
  return rows<ToolInForce>(
    tx.em,
    `select t.remote_name as name, t.remote_hash as hash, t.quarantined_at is not null as is_quarantined
       from tools t where t.toolkit_id = ? and t.deleted_at is null order by t.remote_name`,
    [toolkitId],
  );
}

/** Takes tools out of service, by the toolkit's names of them. */
export async function quarantineTools(tx: TenantTransaction, toolkitId: string, names: readonly string[]): Promise<void> {
  if (names.length === 0) return;
  await change(
    tx.em,
    `update tools set quarantined_at = now(), row_version = row_version + 1, updated_at = now()
      where toolkit_id = ? and remote_name = any(?::text[]) and deleted_at is null and quarantined_at is null`,
    [toolkitId, [...names]],
  );
}
