import { sql } from 'kysely';
import { now } from '../../expressions.ts';
import { newId } from '../../ids.ts';
import { query } from '../../query.ts';
import { change, rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import type { KnowledgeFindingKind } from './knowledge-finding.entity.ts';
import type { KnowledgeRun } from '../runs/knowledge-run.entity.ts';

type Tx = Pick<TenantTransaction, 'em'>;

/** An observation of a task. */
export interface NewFinding {
  readonly kind: KnowledgeFindingKind;
  /** Identifies equal observations, within base and kind, as one finding. */
  readonly fingerprint: string;
  readonly itemIds: readonly string[];
  readonly score?: number;
  readonly detail: Readonly<Record<string, unknown>>;
}

/**
 * Writes findings of a run. An existing finding stays as it is, unless a repair had resolved it and it has occurred again. Returns the ids and fingerprints
 * of findings that are newly open.
 */
export async function writeFindings(
  tx: Tx,
  { id: runId, kbId, organizationId, workspaceId }: Pick<KnowledgeRun, 'id' | 'kbId' | 'organizationId' | 'workspaceId'>,
  findings: readonly NewFinding[],
) {
  if (findings.length === 0) return [];
  const made = sql<NewFinding & { id: string }>`jsonb_to_recordset(${JSON.stringify(
    findings.map(({ itemIds, score, ...rest }) => ({ id: newId(), item_ids: itemIds, score: score ?? null, ...rest })),
  )}::jsonb)`;
  return rows(
    tx.em,
    query
      .insertInto('knowledge_findings')
      .columns(['id', 'kbId', 'organizationId', 'workspaceId', 'runId', 'kind', 'fingerprint', 'state', 'itemIds', 'score', 'detail'])
      .expression(({ selectFrom }) =>
        selectFrom(made.as<'f'>(sql`f (id uuid, kind text, fingerprint text, item_ids uuid[], score float8, detail jsonb)`))
          .select(['f.id', sql<string>`${kbId}::uuid`.as('kbId'), sql<string | null>`${organizationId}::uuid`.as('organizationId')])
          .select([sql<string | null>`${workspaceId}::uuid`.as('workspaceId'), sql<string>`${runId}::uuid`.as('runId')])
          .select(['f.kind', 'f.fingerprint', sql<'open'>`'open'`.as('state'), 'f.itemIds', 'f.score', 'f.detail'])
          .orderBy('f.kind')
          .orderBy('f.fingerprint'),
      )
      .onConflict((conflict) =>
        conflict
          .columns(['kbId', 'kind', 'fingerprint'])
          .doUpdateSet(({ eb, ref }) => ({
            state: 'open' as const,
            runId: ref('excluded.runId'),
            detail: ref('excluded.detail'),
            resolvedAt: null,
            resolvedBy: null,
            updatedAt: now,
            version: eb('knowledge_findings.version', '+', 1),
          }))
          .where('knowledge_findings.state', '=', 'resolved')
          .where('knowledge_findings.resolution', 'is', null),
      )
      .returning(['id', 'fingerprint']),
  );
}

/** Resolves the open findings with these fingerprints, whose cause a repair has removed. */
export async function resolveRepaired(tx: Tx, kbId: string, fingerprints: readonly string[]): Promise<void> {
  if (fingerprints.length === 0) return;
  await change(
    tx.em,
    query
      .updateTable('knowledge_findings')
      .set((eb) => ({
        state: 'resolved' as const,
        resolvedBy: { kind: 'system' as const, id: null },
        resolvedAt: now,
        updatedAt: now,
        version: eb('version', '+', 1),
      }))
      .where('kbId', '=', kbId)
      .where('state', '=', 'open')
      .where('kind', 'in', ['integrity', 'orphan'])
      .where('fingerprint', '=', sql<string>`any(${fingerprints}::text[])`),
  );
}
