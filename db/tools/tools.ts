import { isDeepStrictEqual } from 'node:util';
import type { Scope } from '../../workflows/contracts/access.ts';
import type { ToolKind } from '../../workflows/contracts/runs.ts';
import { newId } from '../ids.ts';
import { fetchPage, holdsText } from '../page-query.ts';
import type { Page, PageRequest } from '../page.ts';
import { inSightOf, seen, visibleTo, type Scoped } from '../scope.ts';
import { row } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import { descriptorOf } from './tool-descriptor.ts';
import { ToolVersion } from './tool-version.entity.ts';
import { Tool } from './tool.entity.ts';

/** A tool as it is read. */
export interface ToolRow {
  readonly id: string;
  readonly scope: Scope;
  readonly organization_id: string | null;
  readonly workspace_id: string | null;
  readonly slug: string;
  readonly kind: ToolKind;
  readonly display_name: string | null;
  readonly description: string;
  readonly input_schema: Record<string, unknown>;
  readonly config: Record<string, unknown>;
  readonly secrets_required: string[];
  readonly concurrency: 'read' | 'write' | 'exclusive';
  readonly effect: 'read' | 'write';
  readonly critical: boolean;
  readonly client_owned: boolean;
  readonly response_max_chars: number;
  readonly timeout_s: number;
  readonly is_active: boolean;
  readonly row_version: number;
  readonly created_at: Date | string;
  readonly updated_at: Date | string;
}

export interface ToolFilters {
  readonly q?: string;
  readonly kind?: ToolKind;
  readonly effect?: 'read' | 'write';
  readonly critical?: boolean;
  readonly toolkit_id?: string;
}

/** What can be set of a tool beside its identity. */
export interface ToolFields {
  readonly displayName: string | null;
  readonly description: string;
  readonly inputSchema: Record<string, unknown>;
  readonly config: Record<string, unknown>;
  readonly secretsRequired: string[];
  readonly effect: 'read' | 'write';
  readonly concurrency: 'read' | 'write' | 'exclusive';
  readonly critical: boolean;
  readonly clientOwned: boolean;
  /** Approved as safe to repeat; a http tool with an idempotency_header is so by itself. */
  readonly isIdempotent: boolean;
  readonly responseMaxChars: number;
  readonly timeoutS: number;
  readonly isActive: boolean;
  /** Hash of the descriptor that was approved (toolkits only). */
  readonly remoteHash: string | null;
  readonly quarantinedAt: Date | null;
}

type DefaultedField = 'secretsRequired' | 'critical' | 'clientOwned' | 'isIdempotent' | 'remoteHash' | 'quarantinedAt';

/** A new tool. Left out: no secrets, not critical, not client-owned, of no toolkit. */
export interface NewTool extends Omit<ToolFields, DefaultedField>, Partial<Pick<ToolFields, DefaultedField>> {
  readonly scope: Scope;
  readonly organizationId: string | null;
  readonly workspaceId: string | null;
  readonly slug: string;
  readonly kind: ToolKind;
  readonly toolkitId?: string | null;
  readonly remoteName?: string | null;
  /** The toolkit's revision whose activation makes it. */
  readonly toolkitRevisionId?: string | null;
}

const columns = `t.id, t.scope, t.organization_id, t.workspace_id, t.slug, t.kind, t.display_name, t.description, t.input_schema, t.config, t.secrets_required,
  t.concurrency, t.effect, t.critical, t.client_owned, t.response_max_chars, t.timeout_s, t.is_active, t.row_version, t.created_at, t.updated_at`;

/** One tool that the caller sees. Throws 404. */
export async function readTool(ctx: Scoped, toolId: string): Promise<ToolRow> {
  const visible = inSightOf(ctx, Tool, 't');
  const found = await row<ToolRow>(ctx.em, `select ${columns} from tools t where t.id = ? and t.deleted_at is null and ${visible.sql}`, [
    toolId,
    ...visible.params,
  ]);
  return seen(ctx, found);
}

/** Tools that the caller sees, newest first. */
export function listToolRows(ctx: Scoped, filters: ToolFilters, page: PageRequest): Promise<Page<ToolRow>> {
  const visible = visibleTo(ctx, Tool, 't');
  const where = ['t.deleted_at is null', visible.sql];
  const params: unknown[] = [...visible.params];
  if (filters.q !== undefined) {
    where.push(holdsText('t.slug', 't.display_name', 't.description'));
    params.push(filters.q);
  }
  for (const name of ['kind', 'effect', 'critical', 'toolkit_id'] as const) {
    if (filters[name] === undefined) continue;
    where.push(`t.${name} = ?`);
    params.push(filters[name]);
  }
  return fetchPage<ToolRow>(ctx.em, {
    select: columns,
    from: 'tools t',
    where: where.join(' and '),
    params,
    order: [{ column: 't.id', type: 'uuid', descending: true }],
    page,
  });
}

/** Writes a tool and its first version, which runs pin. Gives its id. */
export async function insertTool(tx: TenantTransaction, { toolkitRevisionId = null, ...made }: NewTool): Promise<string> {
  const tool = tx.em.create(Tool, {
    id: newId(),
    secretsRequired: [],
    critical: false,
    clientOwned: false,
    isIdempotent: false,
    toolkitId: null,
    remoteName: null,
    remoteHash: null,
    quarantinedAt: null,
    ...made,
    deletedAt: null,
  });
  await tx.em.persist([tool, newVersion(tx, tool, { version: 1, toolkitRevisionId })]).flush();
  return tool.id;
}

/**
 * Changes a tool that the caller has locked (`seeForChange`). What a run would notice becomes a new version, which runs that begin from
 * now on pin; gives its number, or null when no run would notice.
 */
export async function updateToolRow(
  tx: TenantTransaction,
  tool: Tool,
  { toolkitRevisionId = null, ...changes }: Partial<ToolFields> & { readonly toolkitRevisionId?: string | null },
): Promise<number | null> {
  const before = descriptorOf(tool);
  Object.assign(tool, changes);
  const isNoticed = !isDeepStrictEqual(before, descriptorOf(tool)) || toolkitRevisionId !== null;
  if (!isNoticed) {
    await tx.em.flush();
    return null;
  }
  const newest = await row<{ version: number }>(tx.em, 'select max(version)::int as version from tool_versions where tool_id = ?', [
    tool.id,
  ]);
  const version = (newest?.version ?? 0) + 1;
  await tx.em.persist(newVersion(tx, tool, { version, toolkitRevisionId })).flush();
  return version;
}

function newVersion(
  tx: TenantTransaction,
  tool: Tool,
  made: { readonly version: number; readonly toolkitRevisionId: string | null },
): ToolVersion {
  return tx.em.create(ToolVersion, {
    toolId: tool.id,
    organizationId: tool.organizationId,
    workspaceId: tool.workspaceId,
    version: made.version,
    toolkitRevisionId: made.toolkitRevisionId,
    descriptor: { ...descriptorOf(tool) },
  });
}
