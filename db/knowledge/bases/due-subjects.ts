import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { row, rows } from '../../sql.ts';
import type { BasePlace } from '../items/write-chunks.ts';

/** A base about a person who was deleted, in an organization. */
export interface DueSubjectBase extends BasePlace {
  readonly organizationId: string;
}

const due = `b.subject_kind = 'user' and b.organization_id is not null
  and exists (select from users u where u.id::text = b.subject_id and u.deleted_at is not null)
  and not exists (select from knowledge_runs r where (r.kb_id = b.id or r.target_kb_id = b.id) and r.finished_at is null)`;
const columns = `b.id, b.organization_id as "organizationId", b.workspace_id as "workspaceId"`;

/** Bases about deleted persons that nothing works on, with what they hold; a purged one is about nobody. Sweeper's pool, as the next one. */
export function dueSubjectBases(em: SqlEntityManager, limit: number): Promise<DueSubjectBase[]> {
  return rows(em, `select ${columns} from knowledge_bases b where ${due} order by b.id limit ?`, [limit]);
}

/** Locks such a base; null when it is due no more, or somebody works on it. */
export function lockDueSubjectBase(em: SqlEntityManager, kbId: string): Promise<DueSubjectBase | null> {
  return row(em, `select ${columns} from knowledge_bases b where b.id = ?::uuid and ${due} for update skip locked`, [kbId]);
}
