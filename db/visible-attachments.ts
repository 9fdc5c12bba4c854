import { rankOf } from '../workflows/contracts/access.ts';
import { uploaderOf } from './actor-ref.ts';
import { Attachment } from './attachments/attachment.entity.ts';
import type { Caller } from './caller.ts';
import { Condition } from './condition.ts';
import { EvaluationRun } from './evaluations/evaluation-run.entity.ts';
import { baseAccess } from './knowledge/bases/access.ts';
import { isUnbounded, workspacesAtFloor } from './caller-scope.ts';
import { Run } from './runs/run.entity.ts';
import { visibleToSql, type Scoped } from './scope.ts';
import { visibleSkills } from './skills/visible-skills.ts';

/**
 * Which attachments the caller sees: those of runs, skills and evaluations that it sees, those of sources of bases that it reads, its own, and as an admin all
 * of the organization or workspace, except what private bases that it does not read are made of; exports only of bases that it manages.
 */
export function visibleAttachments(ctx: Scoped): Condition {
  const place = visibleToSql(ctx, Attachment, 'a');
  const run = visibleToSql(ctx, Run, 'r');
  const admin = adminOf(ctx.caller);
  const uploader = uploaderOf(ctx.caller);
  const ofRun = `exists (
    select 1 from attachment_links l join runs r on r.id = l.owner_id
    where l.attachment_id = a.id and l.owner_kind = 'run' and (l.until is null or l.until > now()) and r.deleted_at is null and ${run.sql})`;

  const skill = visibleSkills(ctx);
  const ofSkill = `exists (
    select 1 from attachment_links l join skills s on s.id = l.owner_id
    where l.attachment_id = a.id and l.owner_kind = 'skill' and s.deleted_at is null and ${skill.sql})`;

  const evaluation = visibleToSql(ctx, EvaluationRun, 'v');
  const ofEvaluation = `exists (
    select 1 from attachment_links l join evaluation_runs v on v.id = l.owner_id
    where l.attachment_id = a.id and l.owner_kind = 'evaluation' and ${evaluation.sql})`;

  const { visible, canRead } = baseAccess(ctx, 'b');
  const ofSource = `exists (
    select 1 from attachment_links l join knowledge_sources k on k.id = l.owner_id join knowledge_bases b on b.id = k.kb_id
    where l.attachment_id = a.id and l.owner_kind = 'source' and k.deleted_at is null and b.deleted_at is null and ${visible.sql} and ${canRead.sql})`;

  // Not by links, which end with a source and with time: until it is swept, what a private base was made of is its content.
  const held = baseAccess(ctx, 'h').canRead;
  const heldByOthers = `exists (
    select 1 from (select k.kb_id from knowledge_sources k where k.attachment_id = a.id
      union all select x.kb_id from knowledge_runs x where x.attachment_id = a.id and x.kind in ('ingest', 'import')) u
      join knowledge_bases h on h.id = u.kb_id where h.is_private and not ${held.sql})`;

  // An export contains its whole base: being an admin, or having requested it once, is not enough.
  const { canManage } = baseAccess(ctx, 'e');
  const exportOfOthers = `exists (
    select 1 from knowledge_runs x join knowledge_bases e on e.id = x.kb_id
    where x.attachment_id = a.id and x.kind = 'export' and not ${canManage.sql})`;

  return new Condition(
    `(${place.sql} and not ${exportOfOthers} and ((${admin.sql} and not ${heldByOthers}) or (a.created_by ->> 'kind' = ? and a.created_by ->> 'id' = ?) or ${ofRun} or ${ofSkill} or ${ofEvaluation} or ${ofSource}))`,
    [
      ...place.params,
      ...canManage.params,
      ...admin.params,
      ...held.params,
      uploader.kind,
      uploader.id,
      ...run.params,
      ...skill.params,
      ...evaluation.params,
      ...visible.params,
      ...canRead.params,
    ],
  );
}

function adminOf(caller: Caller): Condition {
  if (isUnbounded(caller)) return new Condition('true');
  if (caller.workspaces === 'all') return new Condition(rankOf(caller.role) >= rankOf('admin') ? 'true' : 'false');
  return new Condition('a.workspace_id = any(?::uuid[])', [workspacesAtFloor(caller, 'admin')]);
}
