import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';
import { fail } from '../../workflows/contracts/failure.ts';
import type { ActorRef } from '../actor-ref.ts';
import { newId } from '../ids.ts';
import { change, row, rows } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import { diffTools } from './diff.ts';
import { toldLeftOut, type LeftOut } from './left-out.ts';
import type { ToolkitRevisionOrigin, ToolkitRevisionState } from '../../workflows/contracts/toolkits.ts';
import type { ToolkitTool } from './toolkit-tool.ts';

/** Where a toolkit lives; its revisions and tools carry the same. */
export interface ToolkitHome {
  readonly id: string;
  readonly organizationId: string | null;
  readonly workspaceId: string | null;
}

export interface OpenedRevision {
  readonly id: string;
  readonly number: number;
}

/** What a sync brought home. */
export type SyncFindings =
  | {
      readonly tools: readonly ToolkitTool[];
      readonly server: Record<string, unknown> | null;
      readonly protocolVersion: string | null;
      readonly sourceHash: string | null;
      /** Which of the server's tools were left out, or what of them is ignored, and why; for people, at most 500 characters are kept. */
      readonly told?: string | null;
      /** The tools that were left out, one by one. */
      readonly leftOut?: readonly LeftOut[];
    }
  | {
      /** For people, without secrets; at most 500 characters are kept. */
      readonly error: string;
      /** True when the server answered, and refused. */
      readonly reachable?: boolean;
    };

export interface FinishedSync {
  readonly state: ToolkitRevisionState;
  /** Names of the tools that this sync took out of service. */
  readonly quarantined: readonly string[];
}

/** A revision made from a document or by hand: whole at once. */
export interface NewToolkitRevision {
  readonly origin: Exclude<ToolkitRevisionOrigin, 'sync'>;
  readonly tools: readonly ToolkitTool[];
  readonly sourceHash: string;
  /** Of what the source holds beside its tools; `count` when that is more than is told. */
  readonly leftOut: { readonly told: readonly LeftOut[]; readonly count: number };
  readonly note: string | null;
  readonly createdBy: ActorRef;
}

const limitError = 500;
/** A sync whose process is long dead blocks no other. */
const abandonedAfter = '30 minutes';

/** SHA-256, hexadecimal, of the canonical JSON (RFC 8785) of what a tool's caller relies on: any change of it asks for a new approval. */
export function toolHash(tool: Omit<ToolkitTool, 'hash' | 'proposed' | 'execution'>): string {
  return sha256Of({
    name: tool.name,
    title: tool.title,
    description: tool.description,
    inputSchema: tool.input_schema,
    outputSchema: tool.output_schema,
    annotations: tool.annotations,
  });
}

/** SHA-256 of a value's canonical JSON, hexadecimal. */
export function sha256Of(value: unknown): string {
  return createHash('sha256')
    .update(canonicalize(value) ?? '')
    .digest('hex');
}

/** Begins a sync: a revision in state syncing with the next number. One at a time a toolkit: 409 `sync_running`. */
export async function openSync(
  tx: TenantTransaction,
  toolkit: ToolkitHome,
  { note, createdBy }: { readonly note: string | null; readonly createdBy: ActorRef },
): Promise<OpenedRevision> {
  await lockToolkit(tx, toolkit.id);
  await change(
    tx.em,
    `update toolkit_revisions set state = 'failed', error = 'The sync was abandoned.', updated_at = now()
      where toolkit_id = ? and state = 'syncing' and created_at < now() - interval '${abandonedAfter}'`,
    [toolkit.id],
  );
  const id = newId();
  const opened = await row<OpenedRevision>(
    tx.em,
    `insert into toolkit_revisions (id, toolkit_id, organization_id, workspace_id, number, state, origin, note, created_by)
     select ?::uuid, ?::uuid, ?::uuid, ?::uuid, ${nextNumber}, 'syncing', 'sync', ?::text, ?::jsonb
     on conflict (toolkit_id) where state = 'syncing' do nothing returning id, number`,
    [id, toolkit.id, toolkit.organizationId, toolkit.workspaceId, toolkit.id, note, JSON.stringify(createdBy)],
  );
  if (!opened) throw fail('state_conflict', { reason: 'sync_running', detail: 'A sync of this toolkit is running.' });
  return opened;
}

/**
 * Ends a sync: unchanged when it found exactly what is in force, inactive when an activation could change that, failed on an error and when it
 * keeps no tool at all. Tools in force that are changed or gone are quarantined at once, unless the toolkit keeps them (`on_change`). A revision
 * that has ended already is left alone, so that an activity may run twice.
 */
export async function finishSync(tx: TenantTransaction, revisionId: string, found: SyncFindings): Promise<FinishedSync> {
  const open = await lockRevision(tx, revisionId);
  if (open.state !== 'syncing') return { state: open.state, quarantined: open.quarantined };
  if ('error' in found) {
    await failSync(tx, open, found);
    return { state: 'failed', quarantined: [] };
  }

  const inForce = await toolsInForce(tx, open.toolkit_id);
  const error = errorOf(found.tools, found.told ?? null);
  const leftOut = found.leftOut ?? [];
  const state = found.tools.length === 0 ? 'failed' : isInForce(found.tools, inForce) ? 'unchanged' : 'inactive';
  const quarantined = open.on_change === 'keep' ? [] : differing(found.tools, inForce);
  await quarantineTools(tx, open.toolkit_id, quarantined);
  await change(
    tx.em,
    `update toolkit_revisions set state = ?, tools = ?::jsonb, diff = ?::jsonb, quarantined = ?::text[], source_hash = ?, server = ?::jsonb,
       protocol_version = ?, error = ?, left_out = ?::jsonb, left_out_count = ?, updated_at = now() where id = ?`,
    [
      state,
      JSON.stringify(found.tools),
      JSON.stringify(diffTools(open.active_tools ?? [], found.tools)),
      quarantined,
      found.sourceHash,
      found.server === null ? null : JSON.stringify(found.server),
      found.protocolVersion,
      error,
      JSON.stringify(toldLeftOut(leftOut).leftOut),
      leftOut.length,
      revisionId,
    ],
  );
  await change(
    tx.em,
    `update toolkits set reachable = true, checked_at = now(), server = ?::jsonb, protocol_version = ?, last_error = ? where id = ?`,
    [
      found.server === null ? null : JSON.stringify(found.server),
      found.protocolVersion,
      state === 'failed' ? error : null,
      open.toolkit_id,
    ],
  );
  return { state, quarantined };
}

function errorOf(tools: readonly ToolkitTool[], told: string | null): string | null {
  if (tools.length > 0) return told?.slice(0, limitError) ?? null;
  return (told === null ? 'The server offers no tools.' : `No tool of the server can be kept. ${told}`).slice(0, limitError);
}

/** Stores a revision made from a document or by hand, with its differences to the active one. The caller holds the toolkit's lock. */
export async function insertToolkitRevision(
  tx: TenantTransaction,
  toolkit: ToolkitHome,
  made: NewToolkitRevision,
): Promise<OpenedRevision> {
  const active = await row<{ tools: ToolkitTool[] }>(
    tx.em,
    'select v.tools from toolkits k join toolkit_revisions v on v.id = k.active_revision_id where k.id = ?',
    [toolkit.id],
  );
  const state = isInForce(made.tools, await toolsInForce(tx, toolkit.id)) ? 'unchanged' : 'inactive';
  const { error, leftOut } = toldLeftOut(made.leftOut.told);
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
      state,
      made.origin,
      JSON.stringify(made.tools),
      JSON.stringify(diffTools(active?.tools ?? [], made.tools)),
      made.sourceHash,
      error,
      JSON.stringify(leftOut),
      made.leftOut.count,
      made.note,
      JSON.stringify(made.createdBy),
    ],
  );
  if (!inserted) throw new Error('A revision of a toolkit was written and is not visible');
  return inserted;
}

/**
 * Takes every tool of a toolkit out of service until an activation approves it anew: its server or its credentials are others now. What a
 * sync that is under way brings home is the former server's and counts no more. The caller holds the toolkit's lock.
 */
export async function quarantineAll(tx: TenantTransaction, toolkitId: string): Promise<void> {
  await change(
    tx.em,
    `update toolkit_revisions set state = 'failed', error = 'The address or the credentials of the toolkit changed during the sync.',
       updated_at = now() where toolkit_id = ? and state = 'syncing'`,
    [toolkitId],
  );
  const names = (await toolsInForce(tx, toolkitId)).map((tool) => tool.name);
  await quarantineTools(tx, toolkitId, names);
}

const nextNumber = '(select coalesce(max(n.number), 0) + 1 from toolkit_revisions n where n.toolkit_id = ?::uuid)';

interface OpenSync {
  readonly toolkit_id: string;
  readonly state: ToolkitRevisionState;
  readonly quarantined: string[];
  readonly on_change: string | null;
  readonly active_tools: ToolkitTool[] | null;
}

interface ToolInForce {
  readonly name: string;
  readonly hash: string | null;
  readonly is_quarantined: boolean;
}

async function lockToolkit(tx: TenantTransaction, toolkitId: string): Promise<void> {
  const locked = await row(tx.em, 'select id from toolkits where id = ? and deleted_at is null for update', [toolkitId]);
  if (!locked) throw fail('not_found');
}

// The toolkit's lock keeps an activation from passing between the comparison and the quarantine. It comes first, here as everywhere.
async function lockRevision(tx: TenantTransaction, revisionId: string): Promise<OpenSync> {
  await row(tx.em, 'select k.id from toolkits k where k.id = (select v.toolkit_id from toolkit_revisions v where v.id = ?) for update', [
    revisionId,
  ]);
  const found = await row<OpenSync>(
    tx.em,
    `select v.toolkit_id, v.state, v.quarantined, k.config ->> 'on_change' as on_change, a.tools as active_tools
       from toolkit_revisions v join toolkits k on k.id = v.toolkit_id left join toolkit_revisions a on a.id = k.active_revision_id
      where v.id = ? for update of v`,
    [revisionId],
  );
  if (!found) throw fail('not_found');
  return found;
}

async function failSync(tx: TenantTransaction, open: OpenSync, { error, reachable }: Extract<SyncFindings, { readonly error: string }>) {
  await change(
    tx.em,
    "update toolkit_revisions set state = 'failed', error = ?, updated_at = now() where toolkit_id = ? and state = 'syncing'",
    [error.slice(0, limitError), open.toolkit_id],
  );
  await change(tx.em, 'update toolkits set reachable = ?, checked_at = now(), last_error = ? where id = ?', [
    reachable ?? false,
    error.slice(0, limitError),
    open.toolkit_id,
  ]);
}

function toolsInForce(tx: TenantTransaction, toolkitId: string): Promise<ToolInForce[]> {
  return rows<ToolInForce>(
    tx.em,
    `select t.remote_name as name, t.remote_hash as hash, t.quarantined_at is not null as is_quarantined
       from tools t where t.toolkit_id = ? and t.deleted_at is null order by t.remote_name`,
    [toolkitId],
  );
}

/** Whether activating these tools would change nothing: the same ones, all approved as they are and none quarantined. */
function isInForce(tools: readonly ToolkitTool[], inForce: readonly ToolInForce[]): boolean {
  const hashes = new Map(tools.map((tool) => [tool.name, tool.hash]));
  return tools.length === inForce.length && inForce.every((tool) => !tool.is_quarantined && hashes.get(tool.name) === tool.hash);
}

function differing(tools: readonly ToolkitTool[], inForce: readonly ToolInForce[]): string[] {
  const hashes = new Map(tools.map((tool) => [tool.name, tool.hash]));
  return inForce.filter((tool) => hashes.get(tool.name) !== tool.hash).map((tool) => tool.name);
}

async function quarantineTools(tx: TenantTransaction, toolkitId: string, names: readonly string[]): Promise<void> {
  if (names.length === 0) return;
  await change(
    tx.em,
    `update tools set quarantined_at = now(), row_version = row_version + 1, updated_at = now()
      where toolkit_id = ? and remote_name = any(?::text[]) and deleted_at is null and quarantined_at is null`,
    [toolkitId, names],
  );
}
