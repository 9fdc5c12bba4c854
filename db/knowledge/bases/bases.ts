import { sql } from 'kysely';
import type { Scope } from '../../../workflows/contracts/access.ts';
import { contains, preparedList } from '../../page-query.ts';
import type { PageRequest } from '../../page.ts';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { seen, type Scoped } from '../../scope.ts';
import { row } from '../../sql.ts';
import type { Condition } from '../../condition.ts';
import { baseAccess, listedBases, type BaseAccess } from './access.ts';
import { liveKnowledgeRunStatuses } from '../runs/knowledge-run.entity.ts';
import { knowledgeRunKinds, type KnowledgeRunKind } from '../../../workflows/contracts/knowledge/runs.ts';
import type { KnowledgeBaseKind, KnowledgeSubjectKind } from './knowledge-base.entity.ts';

/** A base as it is read, with its counters and the caller's rights. */
export type KnowledgeBaseRow = NonNullable<Awaited<ReturnType<typeof findBase>>>;

export interface BaseFilters {
  readonly scope?: Scope;
  readonly kind?: KnowledgeBaseKind;
  readonly ownerAgentId?: string;
  readonly ownerPersonaId?: string;
  readonly subjectKind?: KnowledgeSubjectKind;
  readonly subjectId?: string;
  /** Each of these is true or undefined: a prepared query only sees which arguments are present. */
  readonly private?: true;
  readonly open?: true;
  readonly frozen?: true;
  readonly unfrozen?: true;
  readonly q?: string;
}

const itemCount = sql<number>`coalesce(c.pending + c.reviewed + c.promoted + c.superseded + c.retired, 0)`;

function selectBases() {
  return query
    .selectFrom('knowledge_bases as b')
    .leftJoin('knowledge_base_counters as c', 'c.kbId', 'b.id')
    .where('b.deletedAt', 'is', null)
    .select(['b.id', 'b.scope', 'b.organizationId', 'b.workspaceId', 'b.slug', 'b.name', 'b.kind', 'b.ownerAgentId', 'b.ownerPersonaId'])
    .select(['b.subjectKind', 'b.subjectId', 'b.isPrivate', 'b.isFrozen', 'b.embeddingModel', 'b.embeddingDim', 'b.lastConsolidatedAt'])
    .select(['b.version', 'b.createdAt', 'b.updatedAt', 'c.pending', 'c.reviewed', 'c.promoted', 'c.superseded', 'c.retired'])
    .select(itemCount.as('itemCount'));
}

const oneBase = prepared(
  ({
    kbId,
    visible,
    canManage,
    isAdmin,
  }: ParametersOf<Pick<BaseAccess, 'visible' | 'canManage' | 'isAdmin'> & { readonly kbId: string }>) =>
    selectBases()
      .where('b.id', '=', kbId)
      .where(visible)
      .select(['b.predecessorId', 'b.successorId', 'b.activatedAt', 'b.chunking', 'b.retrieval', 'c.chunks', 'c.tokens'])
      .select((eb) => [
        eb.and([canManage]).$castTo<boolean>().as('canManage'),
        eb.and([isAdmin]).$castTo<boolean>().as('isAdmin'),
        eb
          .selectFrom('knowledge_runs as r')
          .select('r.id')
          .where('r.kind', '=', sql.lit('reembed'))
          .where('r.status', 'in', liveStatuses)
          .where((of) => of.or([of('r.kbId', '=', of.ref('b.id')), of('r.targetKbId', '=', of.ref('b.id'))]))
          .limit(sql.lit(1))
          .as('reembedRunId'),
      ]),
);

const liveStatuses = liveKnowledgeRunStatuses.map((status) => sql.lit(status));

function findBase(ctx: Scoped, kbId: string) {
  const { visible, canManage, isAdmin } = baseAccess(ctx, 'b');
  return row(ctx.em, oneBase({ kbId, visible, canManage, isAdmin }));
}

/** Returns a base that the caller sees, whatever its state. Throws 404 for other bases, 403 where the caller's rank is below the floor. */
export async function readBase(ctx: Scoped, kbId: string): Promise<KnowledgeBaseRow> {
  return seen(ctx, await findBase(ctx, kbId));
}

const baseList = preparedList(
  (asked: ParametersOf<BaseFilters & { readonly listed: Condition }>) => {
    const { scope, kind, ownerAgentId, ownerPersonaId, subjectKind, subjectId, q, listed } = asked;
    let bases = selectBases().where(listed);
    if (scope) bases = bases.where('b.scope', '=', scope);
    if (kind) bases = bases.where('b.kind', '=', kind);
    if (ownerAgentId) bases = bases.where('b.ownerAgentId', '=', ownerAgentId);
    if (ownerPersonaId) bases = bases.where('b.ownerPersonaId', '=', ownerPersonaId);
    if (subjectKind) bases = bases.where('b.subjectKind', '=', subjectKind);
    if (subjectId) bases = bases.where('b.subjectId', '=', subjectId);
    if (asked.private) bases = bases.where('b.isPrivate', '=', sql.lit(true));
    if (asked.open) bases = bases.where('b.isPrivate', '=', sql.lit(false));
    if (asked.frozen) bases = bases.where('b.isFrozen', '=', sql.lit(true));
    if (asked.unfrozen) bases = bases.where('b.isFrozen', '=', sql.lit(false));
    return q ? bases.where(({ ref }) => contains(q, ref('b.name'), ref('b.slug'))) : bases;
  },
  [{ column: 'b.id', type: 'uuid', descending: true }],
);

/** Lists bases that the caller sees, newest first, without those still being built. */
export function listBaseRows(ctx: Scoped, filters: BaseFilters, page: PageRequest) {
  return baseList(ctx.em, { ...filters, listed: listedBases(ctx, 'b') }, page);
}

const liveRun = prepared(({ kbId, kinds }: ParametersOf<{ readonly kbId: string; readonly kinds: readonly KnowledgeRunKind[] }>) =>
  query
    .selectFrom('knowledge_runs as r')
    .select(['r.id', 'r.kind'])
    .where('r.status', 'in', liveStatuses)
    .where((eb) => eb.or([eb('r.kbId', '=', kbId), eb('r.targetKbId', '=', kbId)]))
    .where(({ ref }) => sql<boolean>`${ref('r.kind')} = any(${kinds}::text[])`)
    .limit(sql.lit(1)),
);

/** Returns a run that works on a base or builds it and has not ended, of any of the given kinds (default: all); null when there is none. */
export function findLiveRun(ctx: Pick<Scoped, 'em'>, kbId: string, kinds: readonly KnowledgeRunKind[] = knowledgeRunKinds) {
  return row(ctx.em, liveRun({ kbId, kinds: [...kinds] }));
}

/** Returns a base for a purge, deleted or not, with the settings that determine how its texts were chunked. */
export function readPurgedBase(ctx: Pick<Scoped, 'em'>, kbId: string) {
  return row(
    ctx.em,
    query
      .selectFrom('knowledge_bases as b')
      .where('b.id', '=', kbId)
      .select(['b.id', 'b.organizationId', 'b.workspaceId', 'b.embeddingModel', 'b.lexNo', 'b.chunking', 'b.retrieval', 'b.slug']),
  );
}

const writingRun = prepared(({ kbId }: ParametersOf<{ readonly kbId: string }>) =>
  query
    .selectFrom('knowledge_runs as r')
    .select(['r.id', 'r.kind'])
    .where('r.status', 'in', liveStatuses)
    .where('r.kind', '!=', sql.lit('export'))
    .where('r.kbId', '=', kbId)
    .limit(sql.lit(1)),
);

/** Returns a run that may write to a base and has not ended, or null. */
export function findWritingRun(ctx: Pick<Scoped, 'em'>, kbId: string) {
  return row(ctx.em, writingRun({ kbId }));
}
