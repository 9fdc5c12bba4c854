import { LockMode } from '@mikro-orm/core';
import { rankOf } from '../../workflows/contracts/access.ts';
import { fail } from '../../workflows/contracts/failure.ts';
import type { Caller } from '../caller.ts';
import { Condition } from '../condition.ts';
import type { RowScope, RowWorkspace } from '../new-row-scope.ts';
import { prepared, type ParametersOf } from '../prepared.ts';
import { query } from '../query.ts';
import { isUnbounded, workspacesAtFloor } from '../caller-scope.ts';
import { visibleToSql, type Scoped } from '../scope.ts';
import { row } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import { Skill } from './skill.entity.ts';

/**
 * Which skills the caller sees, alias `s`: those of its organization and workspaces; of private ones the caller's own, or all for an admin of their
 * organization or workspace.
 */
export function visibleSkills(ctx: Scoped): Condition {
  const place = visibleToSql(ctx, Skill, 's');
  const admin = adminOf(ctx.caller);
  return new Condition(`(${place.sql} and (s.owner_user_id is null or s.owner_user_id = ?::uuid or ${admin.sql}))`, [
    ...place.params,
    ctx.caller.userId,
    ...admin.params,
  ]);
}

function adminOf(caller: Caller): Condition {
  if (isUnbounded(caller)) return new Condition('true');
  if (caller.workspaces === 'all') return new Condition(rankOf(caller.role) >= rankOf('admin') ? 'true' : 'false');
  return new Condition('s.workspace_id = any(?::uuid[])', [workspacesAtFloor(caller, 'admin')]);
}

const visibleId = prepared(({ skillId, visible }: ParametersOf<{ skillId: string; visible: Condition }>) =>
  query.selectFrom('skills as s').select('s.id').where('s.id', '=', skillId).where('s.deletedAt', 'is', null).where(visible),
);

/** Throws 404 unless the caller sees the skill. */
export async function requireSkill(ctx: Scoped, skillId: string): Promise<void> {
  if (!(await row(ctx.em, visibleId({ skillId, visible: visibleSkills(ctx) })))) throw fail('not_found');
}

/** Returns the skill that has a slug in exactly this row scope, and whether the caller sees it; null when the slug is free. */
export async function readSkillOfSlug(ctx: Scoped, place: RowScope, slug: string) {
  return row(
    ctx.em,
    query
      .selectFrom('skills as s')
      .select((eb) => [
        's.id',
        eb
          .and([visibleSkills(ctx)])
          .$castTo<boolean>()
          .as('isVisible'),
      ])
      .where('s.slug', '=', slug)
      .where('s.deletedAt', 'is', null)
      .where('s.scope', '=', place.scope)
      .where('s.organizationId', 'is not distinct from', place.organizationId)
      .where('s.workspaceId', 'is not distinct from', place.workspaceId),
  );
}

/** Returns the skill that has a slug in a workspace, locked, visible to the caller or not; null when the slug is free. */
export async function lockSkillOfSlug(tx: Pick<TenantTransaction, 'em'>, place: RowWorkspace, slug: string): Promise<Skill | null> {
  const where = { ...place, scope: 'workspace', slug, deletedAt: null } as const;
  return tx.em.findOne(Skill, where, { lockMode: LockMode.PESSIMISTIC_WRITE, refresh: true });
}
