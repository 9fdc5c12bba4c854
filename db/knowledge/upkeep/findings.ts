import { LockMode } from '@mikro-orm/core';
import type { Condition } from '../../condition.ts';
import { preparedList } from '../../page-query.ts';
import type { PageRequest } from '../../page.ts';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { visibleToSql, seen, visibleTo, type Scoped } from '../../scope.ts';
import { row } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import { maintainedBases } from '../bases/access.ts';
import { KnowledgeBase } from '../bases/knowledge-base.entity.ts';
import { KnowledgeFinding, type KnowledgeFindingKind, type KnowledgeFindingState } from './knowledge-finding.entity.ts';

type Tx = Pick<TenantTransaction, 'em'>;

export interface FindingFilters {
  readonly kbId?: string;
  readonly kind?: KnowledgeFindingKind;
  readonly state?: KnowledgeFindingState;
}

/** A finding as views show it. */
export type FindingRow = Awaited<ReturnType<typeof listFindingRows>>['items'][number];

function selectFindings() {
  return query
    .selectFrom('knowledge_findings as f')
    .innerJoin('knowledge_bases as b', 'b.id', 'f.kbId')
    .leftJoin('knowledge_policies as p', 'p.kbId', 'f.kbId')
    .where('b.deletedAt', 'is', null)
    .select(['f.id', 'f.kbId', 'f.organizationId', 'f.workspaceId', 'f.runId', 'f.kind', 'f.state', 'f.itemIds', 'f.score', 'f.detail'])
    .select(['f.resolution', 'f.reason', 'f.resolvedBy', 'f.resolvedAt', 'f.createdAt', 'p.retentionDays']);
}

const readers = { access: 'curate', forAdmins: false } as const;

const findingList = preparedList(
  ({ kbId, kind, state, place, readable }: ParametersOf<FindingFilters & { readonly place: Condition; readonly readable: Condition }>) => {
    let findings = selectFindings().where(place).where(readable);
    if (kbId) findings = findings.where('f.kbId', '=', kbId);
    if (kind) findings = findings.where('f.kind', '=', kind);
    if (state) findings = findings.where('f.state', '=', state);
    return findings;
  },
  [{ column: 'f.id', type: 'uuid', descending: true }],
);

/** Lists findings about bases that the caller may read, newest first; for private bases, those that it may curate. */
export function listFindingRows(ctx: Scoped, filters: FindingFilters, page: PageRequest) {
  const readable = maintainedBases(ctx, 'b', readers);
  return findingList(ctx.em, { ...filters, place: visibleTo(ctx, KnowledgeBase, 'b'), readable }, page);
}

const oneFinding = prepared(
  ({ findingId, place, readable }: ParametersOf<{ readonly findingId: string; readonly place: Condition; readonly readable: Condition }>) =>
    selectFindings().where('f.id', '=', findingId).where(place).where(readable),
);

/** Returns a finding that the caller sees. Throws 404 for others, 403 where the caller's rank is below the floor. */
export async function readFinding(ctx: Scoped, findingId: string): Promise<FindingRow> {
  const place = visibleToSql(ctx, KnowledgeBase, 'b');
  return seen(ctx, await row(ctx.em, oneFinding({ findingId, place, readable: maintainedBases(ctx, 'b', readers) })));
}

/** Locks and returns a finding that is about to change; null when the tenant has none with that id. */
export function lockFinding(tx: Tx, findingId: string): Promise<KnowledgeFinding | null> {
  return tx.em.findOne(KnowledgeFinding, { id: findingId }, { lockMode: LockMode.PESSIMISTIC_WRITE, refresh: true });
}
