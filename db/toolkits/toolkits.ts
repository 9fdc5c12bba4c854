import { fail } from '../../workflows/contracts/failure.ts';
import type { Scope } from '../../workflows/contracts/access.ts';
import type { ActorRef } from '../actor-ref.ts';
import { fetchPage } from '../page-query.ts';
import type { Page, PageRequest } from '../page.ts';
import { inSightOf, seen, visibleTo, type Scoped } from '../scope.ts';
import { change, row, rows } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import type { ToolkitRevisionOrigin, ToolkitRevisionState } from '../../workflows/contracts/toolkits.ts';
import type { LeftOut } from './left-out.ts';
import type { ToolkitChange, ToolkitTool } from './toolkit-tool.ts';
import { Toolkit, type ToolkitKind } from './toolkit.entity.ts';

/** A toolkit as it is read. */
export interface ToolkitRow {
  readonly id: string;
  readonly scope: Scope;
  readonly organization_id: string | null;
  readonly workspace_id: string | null;
  readonly slug: string;
  readonly name: string;
  readonly description: string | null;
  readonly kind: ToolkitKind;
  readonly config: Record<string, unknown>;
  readonly secrets_required: string[];
  readonly active_revision_id: string | null;
  readonly latest_revision_number: number;
  readonly tool_count: number;
  readonly quarantined_count: number;
  readonly is_active: boolean;
  readonly row_version: number;
  readonly created_at: Date | string;
  readonly updated_at: Date | string;
}

/** A revision as it is read; lists leave the tools out. */
export interface ToolkitRevisionRow {
  readonly id: string;
  readonly toolkit_id: string;
  readonly number: number;
  readonly state: ToolkitRevisionState;
  readonly origin: ToolkitRevisionOrigin;
  readonly diff: readonly ToolkitChange[];
  readonly quarantined: readonly string[];
  readonly tools?: readonly ToolkitTool[];
  readonly left_out: readonly LeftOut[];
  readonly left_out_count: number;
  readonly server: Record<string, unknown> | null;
  readonly protocol_version: string | null;
  readonly error: string | null;
  readonly note: string | null;
  readonly created_by: ActorRef;
  readonly created_at: Date | string;
  readonly activated_at: Date | string | null;
}

const columns = `k.id, k.scope, k.organization_id, k.workspace_id, k.slug, k.name, k.description, k.kind, k.config, k.secrets_required, k.active_revision_id,
  k.is_active, k.row_version, k.created_at, k.updated_at,
  (select coalesce(max(v.number), 0)::int from toolkit_revisions v where v.toolkit_id = k.id) as latest_revision_number,
  held.tool_count, held.quarantined_count`;

const source = `toolkits k cross join lateral (select count(*)::int as tool_count, count(t.quarantined_at)::int as quarantined_count
  from tools t where t.toolkit_id = k.id and t.deleted_at is null) held`;

const revisionColumns =
  'v.id, v.toolkit_id, v.number, v.state, v.origin, v.diff, v.quarantined, v.left_out_count, v.left_out, v.server, v.protocol_version, v.error, v.note, v.created_by, v.created_at, v.activated_at';

/** One toolkit that the caller sees. Throws 404. */
export async function readToolkit(ctx: Scoped, toolkitId: string): Promise<ToolkitRow> {
  const visible = inSightOf(ctx, Toolkit, 'k');
  const found = await row<ToolkitRow>(
    ctx.em,
    `select ${columns} from ${source} where k.id = ? and k.deleted_at is null and ${visible.sql}`,
    [toolkitId, ...visible.params],
  );
  return seen(ctx, found);
}

/** Toolkits that the caller sees, newest first. */
export function listToolkitRows(ctx: Scoped, page: PageRequest): Promise<Page<ToolkitRow>> {
  const visible = visibleTo(ctx, Toolkit, 'k');
  return fetchPage<ToolkitRow>(ctx.em, {
    select: columns,
    from: source,
    where: `k.deleted_at is null and ${visible.sql}`,
    params: visible.params,
    order: [{ column: 'k.id', type: 'uuid', descending: true }],
    page,
  });
}

/** Throws 404 unless the caller sees the toolkit: the parent of a list. */
export async function requireToolkit(ctx: Scoped, toolkitId: string): Promise<ToolkitKind> {
  const visible = inSightOf(ctx, Toolkit, 'k');
  const found = await row<{ kind: ToolkitKind; workspace_id: string | null }>(
    ctx.em,
    `select k.kind, k.workspace_id from toolkits k where k.id = ? and k.deleted_at is null and ${visible.sql}`,
    [toolkitId, ...visible.params],
  );
  return seen(ctx, found).kind;
}

/** Revisions of a toolkit that the caller has been shown, newest first, without their tools. */
export function listToolkitRevisionRows(
  tx: Pick<TenantTransaction, 'em'>,
  toolkitId: string,
  page: PageRequest,
): Promise<Page<ToolkitRevisionRow>> {
  return fetchPage<ToolkitRevisionRow>(tx.em, {
    select: revisionColumns,
    from: 'toolkit_revisions v',
    where: 'v.toolkit_id = ?',
    params: [toolkitId],
    order: [{ column: 'v.id', type: 'uuid', descending: true }],
    page,
  });
}

/** One revision of a toolkit that the caller has been shown, with its tools. Throws 404, also for another toolkit's. */
export async function readToolkitRevision(
  tx: Pick<TenantTransaction, 'em'>,
  toolkitId: string,
  revisionId: string,
): Promise<ToolkitRevisionRow & { readonly tools: readonly ToolkitTool[] }> {
  const found = await row<ToolkitRevisionRow & { tools: ToolkitTool[] }>(
    tx.em,
    `select ${revisionColumns}, v.tools from toolkit_revisions v where v.id = ? and v.toolkit_id = ?`,
    [revisionId, toolkitId],
  );
  if (!found) throw fail('not_found');
  return found;
}

const maxNamed = 20;

/** Ids of at most 20 agents whose active revision binds the toolkit or one of its tools. */
export async function agentsBinding(tx: TenantTransaction, toolkitId: string): Promise<string[]> {
  const found = await rows<{ id: string }>(
    tx.em,
    `select distinct a.id from agent_refs r join agents a on a.active_revision_id = r.revision_id
      where a.deleted_at is null and ((r.kind = 'toolkit' and r.target_id = ?::uuid)
        or (r.kind = 'tool' and r.target_id in (select t.id from tools t where t.toolkit_id = ?::uuid and t.deleted_at is null)))
      order by a.id limit ${maxNamed}`,
    [toolkitId, toolkitId],
  );
  return found.map(({ id }) => id);
}

/** Marks a toolkit and its tools as deleted. */
export async function deleteToolkitRows(tx: TenantTransaction, toolkitId: string): Promise<void> {
  await change(
    tx.em,
    'update tools set deleted_at = now(), row_version = row_version + 1, updated_at = now() where toolkit_id = ? and deleted_at is null',
    [toolkitId],
  );
  await change(
    tx.em,
    'update toolkits set deleted_at = now(), next_sync_at = null, row_version = row_version + 1, updated_at = now() where id = ?',
    [toolkitId],
  );
}
