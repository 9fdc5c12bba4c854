import { fail } from '../../workflows/contracts/failure.ts';
import type { Scope } from '../../workflows/contracts/access.ts';
import { creatorOf, type ActorRef } from '../actor-ref.ts';
import type { RowScope } from '../new-row-scope.ts';
import { newId } from '../ids.ts';
import { fetchPage, holdsText } from '../page-query.ts';
import { endEarly, type Page, type PageRequest } from '../page.ts';
import { inSightOf, type Predicate, type Scoped } from '../scope.ts';
import { row } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import type { StoredReferenceDoc } from './reference-doc.ts';
import { hashSkillText, type SkillText } from './skill-text.ts';
import { SkillUse } from './skill-use.entity.ts';
import { SkillVersion } from './skill-version.entity.ts';
import { Skill, type CurationState, type SkillOrigin } from './skill.entity.ts';
import { visibleSkills } from './visible-skills.ts';

/** A document as it is read; lists leave its content out. */
export type ReferenceDocRow = Omit<StoredReferenceDoc, 'content'> & { readonly content?: string | null };

/** A skill as it is read. */
export interface SkillRow {
  readonly id: string;
  readonly scope: Scope;
  readonly organization_id: string | null;
  readonly workspace_id: string | null;
  readonly owner_agent_id: string | null;
  readonly owner_user_id: string | null;
  readonly slug: string;
  readonly description: string;
  readonly instructions: string;
  readonly reference_docs: readonly ReferenceDocRow[];
  readonly version: number;
  readonly curation_state: CurationState;
  readonly origin: SkillOrigin;
  readonly use_count: number;
  readonly last_used_at: Date | string | null;
  readonly is_active: boolean;
  readonly row_version: number;
  readonly created_at: Date | string;
  readonly updated_at: Date | string;
}

export interface SkillVersionRow {
  readonly skill_id: string;
  readonly version: number;
  readonly description: string;
  readonly instructions: string;
  readonly reference_docs: readonly ReferenceDocRow[];
  readonly front_matter: Record<string, unknown> | null;
  readonly content_hash: string;
  readonly origin: SkillOrigin;
  readonly created_by: ActorRef;
  readonly created_at: Date | string;
}

export interface SkillFilters {
  readonly q?: string;
  readonly curation_state?: CurationState;
  readonly origin?: SkillOrigin;
  readonly owner_agent_id?: string;
}

export interface NewSkill extends RowScope {
  readonly slug: string;
  readonly text: SkillText;
  readonly origin: SkillOrigin;
  readonly ownerAgentId: string | null;
  readonly ownerUserId: string | null;
  readonly isActive: boolean;
  /** Default: who acts. */
  readonly createdBy?: ActorRef;
}

/** Another text for a skill, where it comes from, and who wrote it (default: who acts). */
export interface NewText {
  readonly text: SkillText;
  readonly origin: SkillOrigin;
  readonly createdBy?: ActorRef;
}

const withoutContent = (alias: string) => `(select coalesce(jsonb_agg(d.doc - 'content' order by d.at), '[]'::jsonb)
  from jsonb_array_elements(${alias}.reference_docs) with ordinality as d (doc, at)) as reference_docs`;

const columns = `s.id, s.scope, s.organization_id, s.workspace_id, s.owner_agent_id, s.owner_user_id, s.slug, s.description, s.instructions, s.version,
  s.curation_state, s.origin, s.is_active, s.row_version, s.created_at, s.updated_at,
  case when s.scope = 'platform' then used.times else s.use_count end as use_count, case when s.scope = 'platform' then used.last_at else s.last_used_at end as last_used_at`;

/** Characters of text after which a page ends. */
const pageLimitChars = 4 * 1_024 * 1_024;

/** A tenant may not write a platform row, and is not to learn of the uses of others: there the uses that it sees are counted. */
function skillsWithUses(ctx: Scoped): Predicate {
  const visible = inSightOf(ctx, SkillUse, 'u');
  return {
    sql: `skills s left join lateral (select count(*)::int as times, max(u.created_at) as last_at from skill_uses u
      where s.scope = 'platform' and u.skill_id = s.id and ${visible.sql}) used on true`,
    params: visible.params,
  };
}

/** One skill that the caller sees, with its documents. Throws 404. */
export async function readSkill(ctx: Scoped, skillId: string): Promise<SkillRow> {
  const [visible, from] = [visibleSkills(ctx), skillsWithUses(ctx)];
  const found = await row<SkillRow>(
    ctx.em,
    `select ${columns}, s.reference_docs from ${from.sql} where s.id = ? and s.deleted_at is null and ${visible.sql}`,
    [...from.params, skillId, ...visible.params],
  );
  if (!found) throw fail('not_found');
  return found;
}

/** Skills that the caller sees, newest first, without the content of their documents. */
export async function listSkillRows(ctx: Scoped, filters: SkillFilters, page: PageRequest): Promise<Page<SkillRow>> {
  const [visible, from] = [visibleSkills(ctx), skillsWithUses(ctx)];
  const where = ['s.deleted_at is null', visible.sql];
  const params: unknown[] = [...from.params, ...visible.params];
  if (filters.q !== undefined) {
    where.push(holdsText('s.slug', 's.description'));
    params.push(filters.q);
  }
  for (const name of ['curation_state', 'origin', 'owner_agent_id'] as const) {
    if (filters[name] === undefined) continue;
    where.push(`s.${name} = ?`);
    params.push(filters[name]);
  }
  const found = await fetchPage<SkillRow>(ctx.em, {
    select: `${columns}, ${withoutContent('s')}`,
    from: from.sql,
    where: where.join(' and '),
    params,
    order: [{ column: 's.id', type: 'uuid', descending: true }],
    page,
  });
  return endEarly(found, { limit: pageLimitChars, sizeOf: sizeOfText, positionOf: ({ id }) => [id] });
}

/** Versions of a skill that the caller has been shown, newest first, without the content of their documents. */
export async function listVersionRows(
  tx: Pick<TenantTransaction, 'em'>,
  skillId: string,
  page: PageRequest,
): Promise<Page<SkillVersionRow>> {
  const found = await fetchPage<SkillVersionRow>(tx.em, {
    select: `v.skill_id, v.version, v.description, v.instructions, ${withoutContent('v')}, v.front_matter, v.content_hash, v.origin, v.created_by, v.created_at`,
    from: 'skill_versions v',
    where: 'v.skill_id = ?',
    params: [skillId],
    order: [{ column: 'v.version', type: 'int', descending: true }],
    page,
  });
  return endEarly(found, { limit: pageLimitChars, sizeOf: sizeOfText, positionOf: ({ version }) => [String(version)] });
}

/** Writes a pending skill and its first version. Gives the skill. */
export async function insertSkill(tx: TenantTransaction, { text, createdBy = creatorOf(tx.actor), ...made }: NewSkill): Promise<Skill> {
  const skill = tx.em.create(Skill, {
    id: newId(),
    ...made,
    ...columnsOf(text),
    version: 1,
    promotedVersion: null,
    supersededBy: null,
    curationState: 'pending',
    lastUsedAt: null,
    createdBy,
    deletedAt: null,
  });
  await tx.em.persist([skill, newVersion(tx, skill, { origin: made.origin, createdBy })]).flush();
  return skill;
}

/**
 * Gives a skill, which the caller has locked, another text: a new version, pending. False when it says the same already.
 * @throws 409 `illegal_transition` for a superseded or retired one.
 */
export async function changeSkillText(
  tx: TenantTransaction,
  skill: Skill,
  { text, origin, createdBy = creatorOf(tx.actor) }: NewText,
): Promise<boolean> {
  const next = columnsOf(text);
  if (next.contentHash === skill.contentHash) return false;
  if (skill.curationState === 'superseded' || skill.curationState === 'retired')
    throw fail('state_conflict', {
      reason: 'illegal_transition',
      detail: `The text of a ${skill.curationState} skill can not be changed.`,
    });

  Object.assign(skill, next, { version: skill.version + 1, curationState: 'pending' satisfies CurationState });
  await tx.em.persist(newVersion(tx, skill, { origin, createdBy })).flush();
  return true;
}

function columnsOf(text: SkillText) {
  return {
    description: text.description,
    instructions: text.instructions,
    referenceDocs: [...text.referenceDocs],
    frontMatter: text.frontMatter,
    contentHash: hashSkillText(text),
  };
}

function newVersion(
  tx: TenantTransaction,
  skill: Skill,
  made: { readonly origin: SkillOrigin; readonly createdBy: ActorRef },
): SkillVersion {
  return tx.em.create(SkillVersion, {
    id: newId(),
    skillId: skill.id,
    organizationId: skill.organizationId,
    workspaceId: skill.workspaceId,
    version: skill.version,
    description: skill.description,
    instructions: skill.instructions,
    referenceDocs: skill.referenceDocs,
    frontMatter: skill.frontMatter,
    contentHash: skill.contentHash,
    ...made,
  });
}

function sizeOfText(item: SkillRow | SkillVersionRow): number {
  const docs = item.reference_docs.reduce((chars, doc) => chars + doc.name.length + 200, 0);
  return 1_000 + item.description.length + item.instructions.length + docs;
}
