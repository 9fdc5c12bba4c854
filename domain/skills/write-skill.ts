import { writeAudit } from '../../db/audit/audit.ts';
import { readPinnedSkills } from '../../db/skills/run-skills.ts';
import type { Skill } from '../../db/skills/skill.entity.ts';
import { lockSkillOfSlug } from '../../db/skills/visible-skills.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import { fail } from '../../workflows/contracts/failure.ts';
import { changeSkillText, makeSkill } from './skills.ts';

/** What an agent wants to store as a skill. */
export interface SkillWish {
  readonly runId: string;
  readonly place: { readonly organizationId: string; readonly workspaceId: string };
  readonly slug: string;
  readonly description: string;
  readonly instructions: string;
  /** Slug of the run's skill from which it was derived. */
  readonly derivedFrom: string | null;
}

export interface WrittenSkill {
  readonly slug: string;
  readonly version: number;
  readonly curation_state: string;
  readonly note: string;
}

/**
 * Writes a pending skill of the workspace that belongs to the run's agent, or its next version. No agent loads it before a curator has reviewed it. Writing the
 * same again changes nothing.
 * @throws 409 when the slug belongs to another owner or the skill accepts no new text, 422 when the source is no skill of the run.
 */
export async function writeAgentSkill(tx: TenantTransaction, { runId, place, ...wish }: SkillWish): Promise<WrittenSkill> {
  const run = await readPinnedSkills(tx, runId);
  if (!run) throw fail('not_found');
  if (wish.derivedFrom !== null && !run.skills.some(({ slug }) => slug === wish.derivedFrom))
    throw fail('validation_failed', { reason: 'reference', detail: 'derived_from does not name a skill of this run.' });

  const origin = wish.derivedFrom === null ? 'agent' : 'derived';
  const existing = await lockSkillOfSlug(tx, place, wish.slug);
  if (existing && existing.ownerAgentId !== run.agentId)
    throw fail('already_exists', { detail: 'The slug belongs to a skill that this agent does not own: choose another.' });

  const { description, instructions } = wish;
  const text = { description, instructions, referenceDocs: existing?.referenceDocs ?? [], frontMatter: existing?.frontMatter ?? null };
  const createdBy = { kind: 'agent', id: run.agentId } as const;
  const before = existing?.version ?? null;
  if (existing) await changeSkillText(tx, existing, { text, origin, createdBy });
  const owners = { ownerAgentId: run.agentId, ownerUserId: null };
  const made = { ...place, ...owners, scope: 'workspace', slug: wish.slug, text, origin, createdBy, isActive: true } as const;
  const skill = existing ?? (await makeSkill(tx, made));

  if (skill.version !== before) await recordWriting(tx, skill, before);
  return {
    slug: skill.slug,
    version: skill.version,
    curation_state: skill.curationState,
    note: 'It is loaded by nobody before a curator has approved it.',
  };
}

async function recordWriting(tx: TenantTransaction, skill: Skill, before: number | null): Promise<void> {
  const note = {
    resourceType: 'skill',
    resourceId: skill.id,
    label: skill.slug,
    organizationId: skill.organizationId,
    workspaceId: skill.workspaceId,
    ...(before === null ? {} : { changes: { version: { from: before, to: skill.version } } }),
  };
  await writeAudit(tx, { action: before === null ? 'create' : 'update', operationId: null, note, ip: null, userAgent: null });
}
