import { type Expression, sql } from 'kysely';
import { fail } from '../../workflows/contracts/failure.ts';
import type { Condition } from '../condition.ts';
import { preparedList } from '../page-query.ts';
import type { PageRequest } from '../page.ts';
import { prepared, type ParametersOf } from '../prepared.ts';
import { query } from '../query.ts';
import { visibleToSql, seen, visibleTo, type Scoped } from '../scope.ts';
import { row, rows } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import { Toolkit, type ToolkitKind } from './toolkit.entity.ts';

/** A toolkit as it is read. */
export type ToolkitRow = Awaited<ReturnType<typeof readToolkit>>;
/** A revision as it is read with its tools; lists omit the tools. */
export type ToolkitRevisionRow = Awaited<ReturnType<typeof readToolkitRevision>>;

/** Toolkits with the numbers of their revisions and tools. */
function counted(visible: Condition) {
  return query
    .selectFrom('toolkits as k')
    .innerJoinLateral(
      ({ selectFrom }) =>
        selectFrom('tools as t')
          .select([
            sql<number>`count(*)::int`.as('toolCount'),
            ({ ref }) => sql<number>`count(${ref('t.quarantinedAt')})::int`.as('quarantinedCount'),
          ])
          .whereRef('t.toolkitId', '=', 'k.id')
          .where('t.deletedAt', 'is', null)
          .as('held'),
      (join) => join.onTrue(),
    )
    .select(['k.id', 'k.scope', 'k.organizationId', 'k.workspaceId', 'k.slug', 'k.name', 'k.description', 'k.kind', 'k.config'])
    .select(['k.secretsRequired', 'k.activeRevisionId', 'k.isActive', 'k.rowVersion', 'k.createdAt', 'k.updatedAt'])
    .select(['held.toolCount', 'held.quarantinedCount'])
    .select(({ fn, selectFrom, lit }) =>
      fn
        .coalesce(
          selectFrom('toolkit_revisions as v')
            .select(({ fn: { max } }) => max('v.number').as('number'))
            .whereRef('v.toolkitId', '=', 'k.id'),
          lit(0),
        )
        .as('latestRevisionNumber'),
    )
    .where('k.deletedAt', 'is', null)
    .where(visible);
}

const toolkitById = prepared(({ toolkitId, visible }: ParametersOf<{ toolkitId: string; visible: Condition }>) =>
  counted(visible).where('k.id', '=', toolkitId),
);

/** Returns one toolkit that the caller sees. Throws 404. */
export async function readToolkit(ctx: Scoped, toolkitId: string) {
  return seen(ctx, await row(ctx.em, toolkitById({ toolkitId, visible: visibleToSql(ctx, Toolkit, 'k') })));
}

const listed = preparedList(
  ({ visible }: ParametersOf<{ visible: Condition }>) => counted(visible),
  [{ column: 'k.id', type: 'uuid', descending: true }],
);

/** Returns the toolkits that the caller sees, newest first. */
export async function listToolkitRows(ctx: Scoped, page: PageRequest) {
  return listed(ctx.em, { visible: visibleTo(ctx, Toolkit, 'k') }, page);
}

const kindById = prepared(({ toolkitId, visible }: ParametersOf<{ toolkitId: string; visible: Condition }>) =>
  query
    .selectFrom('toolkits as k')
    .select(['k.kind', 'k.workspaceId'])
    .where('k.id', '=', toolkitId)
    .where('k.deletedAt', 'is', null)
    .where(visible),
);

/** Throws 404 unless the caller sees the toolkit, as the parent of a list. */
export async function requireToolkit(ctx: Scoped, toolkitId: string): Promise<ToolkitKind> {
  return seen(ctx, await row(ctx.em, kindById({ toolkitId, visible: visibleToSql(ctx, Toolkit, 'k') }))).kind;
}

function revisionsOf(toolkitId: Expression<string>) {
  return query
    .selectFrom('toolkit_revisions as v')
    .select(['v.id', 'v.toolkitId', 'v.number', 'v.state', 'v.origin', 'v.diff', 'v.quarantined', 'v.leftOutCount', 'v.leftOut'])
    .select(['v.server', 'v.protocolVersion', 'v.error', 'v.note', 'v.createdBy', 'v.createdAt', 'v.activatedAt'])
    .where('v.toolkitId', '=', toolkitId);
}

const listedRevisions = preparedList(
  ({ toolkitId }: ParametersOf<{ toolkitId: string }>) => revisionsOf(toolkitId),
  [{ column: 'v.id', type: 'uuid', descending: true }],
);

/** Returns the revisions of a toolkit that the caller has been shown, newest first, without their tools. */
export async function listToolkitRevisionRows(tx: Pick<TenantTransaction, 'em'>, toolkitId: string, page: PageRequest) {
  return listedRevisions(tx.em, { toolkitId }, page);
}

const revisionById = prepared(({ toolkitId, revisionId }: ParametersOf<{ toolkitId: string; revisionId: string }>) =>
  revisionsOf(toolkitId).select('v.tools').where('v.id', '=', revisionId),
);

/** Returns one revision of a toolkit that the caller has been shown, with its tools. Throws 404, also for another toolkit's revision. */
export async function readToolkitRevision(tx: Pick<TenantTransaction, 'em'>, toolkitId: string, revisionId: string) {
  const found = await row(tx.em, revisionById({ toolkitId, revisionId }));
  if (!found) throw fail('not_found');
  return found;
}

const maxNamed = 20;

/** Returns the ids of at most 20 agents whose active revision binds the toolkit or one of its tools. */
export async function agentsBinding(tx: TenantTransaction, toolkitId: string): Promise<string[]> {
  const tools = query.selectFrom('tools as t').select('t.id').where('t.toolkitId', '=', toolkitId).where('t.deletedAt', 'is', null);
  const found = await rows(
    tx.em,
    query
      .selectFrom('agent_refs as r')
      .innerJoin('agents as a', 'a.activeRevisionId', 'r.revisionId')
      .select('a.id')
      .distinct()
      .where('a.deletedAt', 'is', null)
      .where(({ and, eb, or }) =>
        or([
          and([eb('r.kind', '=', 'toolkit'), eb('r.targetId', '=', toolkitId)]),
          and([eb('r.kind', '=', 'tool'), eb('r.targetId', 'in', tools)]),
        ]),
      )
      .orderBy('a.id')
      .limit(maxNamed),
  );
  return found.map(({ id }) => id);
}
