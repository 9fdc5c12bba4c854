import { sql } from 'kysely';
import { Condition } from '../../condition.ts';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import type { Scoped } from '../../scope.ts';
import { row, rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import { baseAccess, basesOfRun, namedBases, type BaseAccess, type RunPrincipal } from '../bases/access.ts';

/** A base as reading and writing of its items needs it. */
export type ItemBase = NonNullable<Awaited<ReturnType<typeof findContentBase>>>;

export interface BaseLookup {
  /** Locks the base FOR SHARE: a freeze waits until the transaction ends, and later writes see the freeze. */
  readonly isLocked?: boolean;
  /** Also finds a deleted item. */
  readonly withDeleted?: boolean;
}

export interface BaseTarget {
  readonly kbId?: string;
  readonly itemId?: string;
}

type ContentAccess = Pick<BaseAccess, 'visible' | 'canRead' | 'canWrite' | 'canCurate'>;

function selectBase({ visible, canRead, canWrite, canCurate }: ParametersOf<ContentAccess>) {
  return query
    .selectFrom('knowledge_bases as b')
    .where('b.deletedAt', 'is', null)
    .where(visible)
    .select(['b.id', 'b.organizationId', 'b.workspaceId', 'b.kind', 'b.chunking', 'b.retrieval', 'b.lexNo', 'b.embeddingModel'])
    .select(['b.embeddingDim', 'b.isFrozen', 'b.successorId', 'b.activatedAt'])
    .select((eb) => [
      eb.and([canRead]).$castTo<boolean>().as('canRead'),
      eb.and([canWrite]).$castTo<boolean>().as('canWrite'),
      eb.and([canCurate]).$castTo<boolean>().as('canCurate'),
      eb
        .selectFrom('knowledge_runs as r')
        .select('r.id')
        .where('r.kind', '=', 'reembed')
        .where('r.status', 'in', ['queued', 'running', 'paused', 'cancelling'])
        .where((of) => of.or([of('r.kbId', '=', of.ref('b.id')), of('r.targetKbId', '=', of.ref('b.id'))]))
        .limit(sql.lit(1))
        .as('reembedRunId'),
      eb.selectFrom('knowledge_policies as p').select('p.retentionDays').whereRef('p.kbId', '=', 'b.id').as('retentionDays'),
    ]);
}

interface Asked extends ContentAccess, BaseTarget {
  readonly isLocked?: true;
  readonly withDeleted?: true;
}

const baseQuery = prepared(({ kbId, itemId, isLocked, withDeleted, ...access }: ParametersOf<Asked>) => {
  let bases = selectBase(access);
  if (kbId) bases = bases.where('b.id', '=', kbId);
  if (itemId) {
    const items = withDeleted
      ? query.selectFrom('knowledge_items as i').select('i.kbId').where('i.stagedRunId', 'is', null)
      : query.selectFrom('knowledge_live_items as i').select('i.kbId');
    bases = bases.where('b.id', '=', items.where('i.id', '=', itemId));
  }
  return isLocked ? bases.forShare('b') : bases;
});

/** Returns a base by its id, or the base of a live item, with the caller's rights on its content. Null when the caller does not see it. */
export function findContentBase(ctx: Scoped, target: BaseTarget, { isLocked, withDeleted }: BaseLookup) {
  const flags = { ...(isLocked ? { isLocked } : {}), ...(withDeleted ? { withDeleted } : {}) } as const;
  const { visible, canRead, canWrite, canCurate } = baseAccess(ctx, 'b');
  return row(ctx.em, baseQuery({ ...target, ...flags, visible, canRead, canWrite, canCurate }));
}

const always = new Condition('true');

const writableBases = prepared(({ writable }: ParametersOf<{ readonly writable: Condition }>) =>
  query
    .selectFrom('knowledge_bases as b')
    .where(writable)
    .select(['b.id', 'b.slug'])
    .orderBy(sql`b.workspace_id is null`)
    .orderBy('b.id')
    .limit(200),
);

/** Returns the bases that a run may write to now, those of its workspace first. */
export function listBasesToWrite(tx: Pick<TenantTransaction, 'em'>, run: RunPrincipal) {
  return rows(tx.em, writableBases({ writable: basesOfRun(run, 'b', 'write') }));
}

/**
 * Returns a base that a run may write to now, locked FOR SHARE; for a superseded base, its successor. Null when the run may not write to it, or when it no
 * longer exists. The query runs twice, because a statement that has waited for a lock sees the locked row as it is by then, but all other rows as they
 * were: after a cut-over it would see neither the successor nor its grants.
 */
export async function lockBaseToWrite(tx: Pick<TenantTransaction, 'em'>, run: RunPrincipal, kbId: string): Promise<ItemBase | null> {
  const named = namedBases('b', [kbId]);
  const own = basesOfRun(run, 'b', 'write');
  const visible = new Condition(`(${named.sql} and ${own.sql})`, [...named.params, ...own.params]);
  const find = () => row(tx.em, baseQuery({ isLocked: true, visible, canRead: always, canWrite: always, canCurate: always }));
  return (await find()) ?? find();
}
