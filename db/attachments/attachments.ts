import { type Expression, sql } from 'kysely';
import { fail } from '../../workflows/contracts/failure.ts';
import { rankOf } from '../../workflows/contracts/access.ts';
import type { ActorRef } from '../actor-ref.ts';
import type { Caller } from '../caller.ts';
import { Condition } from '../condition.ts';
import { isUnbounded, workspacesAtFloor } from '../reach.ts';
import { EvaluationRun } from '../evaluations/evaluation-run.entity.ts';
import { baseAccess } from '../knowledge/bases/access.ts';
import { Run } from '../runs/run.entity.ts';
import { prepared, type ParametersOf } from '../prepared.ts';
import { query } from '../query.ts';
import { visibleToSql, type Scoped } from '../scope.ts';
import { row } from '../sql.ts';
import { visibleSkills } from '../skills/visible-skills.ts';
import { Attachment } from './attachment.entity.ts';

/** An attachment as it is read. */
export type AttachmentRow = NonNullable<Awaited<ReturnType<typeof findAttachment>>>;

/** How long unlinked bytes are retained, in hours. */
export const unlinkedHours = 24;

export const attachmentColumns = [
  'id',
  'organizationId',
  'workspaceId',
  'filename',
  'mediaType',
  'sizeBytes',
  'sha256',
  'purpose',
  'state',
  'createdBy',
  'storageKey',
  'expiresAt',
  'createdAt',
] as const;

/** The links of an attachment that are in effect. */
export function linksOf(attachmentId: Expression<string>) {
  return query
    .selectFrom('attachment_links as l')
    .select(sql.lit(1).as('one'))
    .where('l.attachmentId', '=', attachmentId)
    .where(({ eb, or }) => or([eb('l.until', 'is', null), eb('l.until', '>', sql<string>`now()`)]));
}

/** Returns an attachment that the caller sees. Throws 404. */
export async function seeAttachment(ctx: Scoped, id: string): Promise<AttachmentRow> {
  const found = await findAttachment(ctx, id);
  if (!found) throw fail('not_found');
  return found;
}

/** Returns the uploader. A credential that works for no user is identified by its own id, so that it finds its uploads again. */
export function uploaderOf(caller: Caller): ActorRef {
  if (caller.userId !== null) return { kind: 'user', id: caller.userId };
  return { kind: caller.kind === 'service_key' ? 'service_key' : 'system', id: caller.principalId };
}

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

const attachmentById = prepared(({ id, visible }: ParametersOf<{ readonly id: string; readonly visible: Condition }>) =>
  query
    .selectFrom('attachments as a')
    .select(attachmentColumns)
    .select(({ exists, ref }) =>
      exists(linksOf(ref('a.id')))
        .$castTo<boolean>()
        .as('linked'),
    )
    .where('a.id', '=', id)
    .where(visible),
);

/** Returns an attachment that the caller sees, or null when there is none. */
export async function findAttachment(ctx: Scoped, id: string) {
  return row(ctx.em, attachmentById({ id, visible: visibleAttachments(ctx) }));
}

function adminOf(caller: Caller): Condition {
  if (isUnbounded(caller)) return new Condition('true');
  if (caller.workspaces === 'all') return new Condition(rankOf(caller.role) >= rankOf('admin') ? 'true' : 'false');
  return new Condition('a.workspace_id = any(?::uuid[])', [workspacesAtFloor(caller, 'admin')]);
}
