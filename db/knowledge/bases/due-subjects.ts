import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { row, rows } from '../../sql.ts';
import type { BasePlace } from '../items/write-chunks.ts';

/** A base of an organization about a person who was deleted. */
export interface DueSubjectBase extends BasePlace {
  readonly organizationId: string;
}

const due = `b.subject_kind = 'user' and b.organization_id is not null
  and exists (select from users u where u.id::text = b.subject_id and u.deleted_at is not null)
  and not exists (select from knowledge_runs r where (r.kb_id = b.id or r.target_kb_id = b.id) and r.finished_at is null)`;
const columns = `b.id, b.organization_id as "organizationId", b.workspace_id as "workspaceId"`;

/** Returns bases about deleted persons on which no run is working; a purged base has no subject any more. Sweeper's pool, like `lockDueSubjectBase`. */
export function dueSubjectBases(em: SqlEntityManager, limit: number): Promise<DueSubjectBase[]> {
  return rows(em, `select ${columns} from knowledge_bases b where ${due} order by b.id limit ?`, [limit]);
}

/** Locks such a base; returns null when it is no longer due, or when another transaction holds it. */
export function lockDueSubjectBase(em: SqlEntityManager, kbId: string): Promise<DueSubjectBase | null> {
  return row(em, `select ${columns} from knowledge_bases b where b.id = ?::uuid and ${due} for update skip locked`, [kbId]);
}
