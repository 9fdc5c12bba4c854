import { rankOf } from '../../workflows/contracts/access.ts';
import { fail } from '../../workflows/contracts/failure.ts';
import type { Caller } from '../caller.ts';
import type { RowScope } from '../new-row-scope.ts';
import { isUnbounded, workspacesAtFloor } from '../reach.ts';
import { inSightOf, seeForChange, type ChangeOptions, type Changing, type Predicate, type Scoped } from '../scope.ts';
import { row } from '../sql.ts';
import { Skill } from './skill.entity.ts';

/** Which skills the caller sees, alias `s`: those of its places, and of private ones its own and, as an admin of the place, all. */
export function visibleSkills(ctx: Scoped): Predicate {
  const place = inSightOf(ctx, Skill, 's');
  const admin = adminOf(ctx.caller);
  return {
    sql: `(${place.sql} and (s.owner_user_id is null or s.owner_user_id = ?::uuid or ${admin.sql}))`,
    params: [...place.params, ctx.caller.userId, ...admin.params],
  };
}

/** Loads and locks a skill that is about to change. Like `seeForChange`; a private skill of somebody else is the same 404. */
export async function seeSkillForChange(ctx: Changing, skillId: string, options: ChangeOptions = {}): Promise<Skill> {
  await requireSkill(ctx, skillId);
  return seeForChange(ctx, Skill, skillId, options);
}

/** Throws 404 unless the caller sees the skill. */
export async function requireSkill(ctx: Scoped, skillId: string): Promise<void> {
  const visible = visibleSkills(ctx);
  const found = await row(ctx.em, `select s.id from skills s where s.id = ? and s.deleted_at is null and ${visible.sql}`, [
    skillId,
    ...visible.params,
  ]);
  if (!found) throw fail('not_found');
}

function adminOf(caller: Caller): Predicate {
  if (isUnbounded(caller)) return { sql: 'true', params: [] };
  if (caller.workspaces === 'all') return { sql: rankOf(caller.role) >= rankOf('admin') ? 'true' : 'false', params: [] };
  return { sql: 's.workspace_id = any(?::uuid[])', params: [workspacesAtFloor(caller, 'admin')] };
}

/** The skill that holds a slug in this very place, locked; null when the slug is free. 409 when it is one that the caller does not see. */
export async function findSkillOfHome(ctx: Changing, home: RowScope, slug: string): Promise<Skill | null> {
  const visible = visibleSkills(ctx);
  const found = await row<{ id: string; is_visible: boolean }>(
    ctx.em,
    `select s.id, ${visible.sql} as is_visible from skills s
      where s.slug = ? and s.deleted_at is null and s.scope = ? and s.organization_id is not distinct from ?::uuid and s.workspace_id is not distinct from ?::uuid`,
    [...visible.params, slug, home.scope, home.organizationId, home.workspaceId],
  );
  if (!found) return null;
  if (!found.is_visible) throw fail('already_exists');
  return seeForChange(ctx, Skill, found.id, { versionProperty: null });
}
