import type { Scope } from '../../workflows/contracts/access.ts';
import type { ToolKind } from '../../workflows/contracts/runs.ts';
import { fetchPage, holdsText } from '../page-query.ts';
import type { Page, PageRequest } from '../page.ts';
import { inSightOf, seen, visibleTo, type Scoped } from '../scope.ts';
import { row } from '../sql.ts';
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
