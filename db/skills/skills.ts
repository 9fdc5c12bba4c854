import { type Expression, sql } from 'kysely';
import { fail } from '../../workflows/contracts/failure.ts';
import type { Condition } from '../condition.ts';
import { contains, preparedList } from '../page-query.ts';
import { endEarly, type PageRequest } from '../page.ts';
import { prepared, type ParametersOf } from '../prepared.ts';
import { query } from '../query.ts';
import { visibleToSql, type Scoped } from '../scope.ts';
import { row } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import type { StoredReferenceDoc } from './reference-doc.ts';
import { SkillUse } from './skill-use.entity.ts';
import type { SkillOrigin } from './skill.entity.ts';
import type { CurationState } from '../../workflows/contracts/knowledge/curation.ts';
import { visibleSkills } from './visible-skills.ts';

/** A document as it is read; lists omit its content. */
export type ReferenceDocRow = Omit<StoredReferenceDoc, 'content'> & { readonly content?: string | null };
/** A skill as it is read. */
export type SkillRow = Awaited<ReturnType<typeof listSkillRows>>['items'][number];
export type SkillVersionRow = Awaited<ReturnType<typeof listVersionRows>>['items'][number];

export interface SkillFilters {
  readonly q?: string;
  readonly curationState?: CurationState;
  readonly origin?: SkillOrigin;
  readonly ownerAgentId?: string;
}

/** Which skills are selected, and which of their uses are counted. */
interface Sight {
  readonly visible: Condition;
  readonly counted: Condition;
}

/** Characters of text after which a page ends. */
const maxPageChars = 4 * 1_024 * 1_024;

/** A tenant may not write a platform row, and must not learn of other tenants' uses: for platform rows, only the uses that the tenant sees are counted. */
function selectSkills({ visible, counted }: ParametersOf<Sight>) {
  return query
    .selectFrom('skills as s')
    .innerJoinLateral(
      (eb) =>
        eb
          .selectFrom('skill_uses as u')
          .select(({ fn }) => [sql<number>`count(*)::int`.as('times'), fn.max<string | null>('u.createdAt').as('lastAt')])
          .where('s.scope', '=', 'platform')
          .whereRef('u.skillId', '=', 's.id')
          .where(counted)
          .as('used'),
      (join) => join.onTrue(),
    )
    .where('s.deletedAt', 'is', null)
    .where(visible)
    .select(['s.id', 's.scope', 's.organizationId', 's.workspaceId', 's.ownerAgentId', 's.ownerUserId', 's.slug', 's.description'])
    .select(['s.instructions', 's.version', 's.curationState', 's.origin', 's.isActive', 's.rowVersion', 's.createdAt', 's.updatedAt'])
    .select((eb) => [
      eb.case().when('s.scope', '=', 'platform').then(eb.ref('used.times')).else(eb.ref('s.useCount')).end().as('useCount'),
      eb.case().when('s.scope', '=', 'platform').then(eb.ref('used.lastAt')).else(eb.ref('s.lastUsedAt')).end().as('lastUsedAt'),
    ]);
}

function withoutContent(docs: Expression<StoredReferenceDoc[]>) {
  return sql<ReferenceDocRow[]>`(select coalesce(jsonb_agg(d.doc - 'content' order by d.at), '[]'::jsonb)
    from jsonb_array_elements(${docs}) with ordinality as d (doc, at))`.as('referenceDocs');
}

const oneSkill = prepared(({ skillId, ...sight }: ParametersOf<Sight & { skillId: string }>) =>
  selectSkills(sight).select('s.referenceDocs').where('s.id', '=', skillId),
);

/** Returns one skill that the caller sees, with its documents. Throws 404. */
export async function readSkill(ctx: Scoped, skillId: string): Promise<SkillRow> {
  const found = await row(ctx.em, oneSkill({ skillId, ...sightOf(ctx) }));
  if (!found) throw fail('not_found');
  return found;
}

const skillList = preparedList(
  ({ q, curationState, origin, ownerAgentId, ...sight }: ParametersOf<Sight & SkillFilters>) => {
    let skills = selectSkills(sight).select(({ ref }) => withoutContent(ref('s.referenceDocs')));
    if (q) skills = skills.where(({ ref }) => contains(q, ref('s.slug'), ref('s.description')));
    if (curationState) skills = skills.where('s.curationState', '=', curationState);
    if (origin) skills = skills.where('s.origin', '=', origin);
    if (ownerAgentId) skills = skills.where('s.ownerAgentId', '=', ownerAgentId);
    return skills;
  },
  [{ column: 's.id', type: 'uuid', descending: true }],
);

/** Returns the skills that the caller sees, newest first, without the content of their documents. */
export async function listSkillRows(ctx: Scoped, filters: SkillFilters, page: PageRequest) {
  const found = await skillList(ctx.em, { ...filters, ...sightOf(ctx) }, page);
  return endEarly(found, { limit: maxPageChars, sizeOf: sizeOfText, positionOf: ({ id }) => [id] });
}

const versionList = preparedList(
  ({ skillId }: ParametersOf<{ skillId: string }>) =>
    query
      .selectFrom('skill_versions as v')
      .where('v.skillId', '=', skillId)
      .select(['v.skillId', 'v.version', 'v.description', 'v.instructions', 'v.frontMatter', 'v.contentHash', 'v.origin', 'v.createdBy'])
      .select(({ ref }) => ['v.createdAt', withoutContent(ref('v.referenceDocs'))]),
  [{ column: 'v.version', type: 'int', descending: true }],
);

/** Returns the versions of a skill that the caller has been shown, newest first, without the content of their documents. */
export async function listVersionRows(tx: Pick<TenantTransaction, 'em'>, skillId: string, page: PageRequest) {
  const found = await versionList(tx.em, { skillId }, page);
  return endEarly(found, { limit: maxPageChars, sizeOf: sizeOfText, positionOf: ({ version }) => [String(version)] });
}

function sightOf(ctx: Scoped): Sight {
  return { visible: visibleSkills(ctx), counted: visibleToSql(ctx, SkillUse, 'u') };
}

interface Text {
  readonly description: string;
  readonly instructions: string;
  readonly referenceDocs: readonly ReferenceDocRow[];
}

function sizeOfText(item: Text): number {
  const docs = item.referenceDocs.reduce((chars, doc) => chars + doc.name.length + 200, 0);
  return 1_000 + item.description.length + item.instructions.length + docs;
}
