import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { type NotNull, sql } from 'kysely';
import { query } from '../../query.ts';
import { row, rows } from '../../sql.ts';

/** A base of an organization about a person who was deleted. */
export type DueSubjectBase = Awaited<ReturnType<typeof dueSubjectBases>>[number];

function selectDue() {
  return query
    .selectFrom('knowledge_bases as b')
    .where('b.subjectKind', '=', sql.lit('user' as const))
    .where('b.organizationId', 'is not', null)
    .where(({ exists, selectFrom }) =>
      exists(
        selectFrom('users as u')
          .where(sql<boolean>`u.id::text = b.subject_id`)
          .where('u.deletedAt', 'is not', null),
      ),
    )
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('knowledge_runs as r')
            .where(({ eb, ref, or }) => or([eb('r.kbId', '=', ref('b.id')), eb('r.targetKbId', '=', ref('b.id'))]))
            .where('r.finishedAt', 'is', null),
        ),
      ),
    )
    .select(['b.id', 'b.organizationId', 'b.workspaceId'])
    .$narrowType<{ organizationId: NotNull }>();
}

/** Returns bases about deleted persons on which no run is working; a purged base has no subject any more. Sweeper's pool, like `lockDueSubjectBase`. */
export function dueSubjectBases(em: SqlEntityManager, limit: number) {
  return rows(em, selectDue().orderBy('b.id').limit(limit));
}

/** Locks such a base; returns null when it is no longer due, or when another transaction holds it. */
export function lockDueSubjectBase(em: SqlEntityManager, kbId: string): Promise<DueSubjectBase | null> {
  return row(em, selectDue().where('b.id', '=', kbId).forUpdate().skipLocked());
}
