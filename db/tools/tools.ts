import type { ToolKind } from '../../workflows/contracts/runs/runs.ts';
import type { Condition } from '../condition.ts';
import { contains, preparedList } from '../page-query.ts';
import type { PageRequest } from '../page.ts';
import { prepared, type ParametersOf } from '../prepared.ts';
import { query } from '../query.ts';
import { visibleToSql, seen, visibleTo, type Scoped } from '../scope.ts';
import { row } from '../sql.ts';
import { Tool } from './tool.entity.ts';

/** A tool as it is read. */
export type ToolRow = Awaited<ReturnType<typeof readTool>>;

export interface ToolFilters {
  /** Text in slug, display name or description. */
  readonly q?: string;
  readonly kind?: ToolKind;
  readonly effect?: 'read' | 'write';
  readonly critical?: boolean;
  readonly toolkitId?: string;
}

const columns = [
  't.id',
  't.scope',
  't.organizationId',
  't.workspaceId',
  't.slug',
  't.kind',
  't.displayName',
  't.description',
  't.inputSchema',
  't.config',
  't.secretsRequired',
  't.concurrency',
  't.effect',
  't.critical',
  't.clientOwned',
  't.responseMaxChars',
  't.timeoutS',
  't.isActive',
  't.rowVersion',
  't.createdAt',
  't.updatedAt',
] as const;

const toolById = prepared(({ toolId, visible }: ParametersOf<{ toolId: string; visible: Condition }>) =>
  query.selectFrom('tools as t').select(columns).where('t.id', '=', toolId).where('t.deletedAt', 'is', null).where(visible),
);

/** Returns one tool that the caller sees. Throws 404. */
export async function readTool(ctx: Scoped, toolId: string) {
  return seen(ctx, await row(ctx.em, toolById({ toolId, visible: visibleToSql(ctx, Tool, 't') })));
}

const listed = preparedList(
  ({ visible, q, kind, effect, critical, toolkitId }: ParametersOf<ToolFilters & { visible: Condition }>) => {
    let found = query.selectFrom('tools as t').select(columns).where('t.deletedAt', 'is', null).where(visible);
    if (q) found = found.where(({ ref }) => contains(q, ref('t.slug'), ref('t.displayName'), ref('t.description')));
    if (kind) found = found.where('t.kind', '=', kind);
    if (effect) found = found.where('t.effect', '=', effect);
    if (critical) found = found.where('t.critical', '=', critical);
    if (toolkitId) found = found.where('t.toolkitId', '=', toolkitId);
    return found;
  },
  [{ column: 't.id', type: 'uuid', descending: true }],
);

/** Returns the tools that the caller sees, newest first. */
export async function listToolRows(ctx: Scoped, filters: ToolFilters, page: PageRequest) {
  return listed(ctx.em, { ...filters, visible: visibleTo(ctx, Tool, 't') }, page);
}
