import { type Expression, sql, type SqlBool } from 'kysely';
import type { Scope } from '../../../workflows/contracts/access.ts';
import type { ReviewTemplates } from '../../../workflows/contracts/review/code-review.ts';
import type { Condition } from '../../condition.ts';
import { contains, preparedList } from '../../page-query.ts';
import { endEarly, type PageRequest } from '../../page.ts';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { visibleToSql, seen, visibleTo, type Scoped } from '../../scope.ts';
import { row } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import { ReviewPlaybook } from './review-playbook.entity.ts';

/** A playbook as it is read, with the templates of its active revision. */
export type PlaybookRow = Awaited<ReturnType<typeof listPlaybookRows>>['items'][number];
/** A revision of a playbook. */
export type PlaybookRevisionRow = Awaited<ReturnType<typeof listRevisionRows>>['items'][number];

export interface PlaybookFilters {
  readonly scope?: Scope;
  readonly q?: string;
  /** Each is true or undefined: a prepared query only sees which are present. */
  readonly active?: true;
  readonly inactive?: true;
}

/** Characters of templates after which a page ends. */
const maxPageChars = 4 * 1_024 * 1_024;

function selectPlaybooks(visible: Condition) {
  return query
    .selectFrom('review_playbooks as p')
    .innerJoin('review_playbook_revisions as r', 'r.id', 'p.activeRevisionId')
    .where('p.deletedAt', 'is', null)
    .where(visible)
    .select(['p.id', 'p.scope', 'p.organizationId', 'p.workspaceId', 'p.slug', 'p.name', 'p.description', 'p.isDefault', 'p.isActive'])
    .select(['p.activeRevisionId', 'p.version', 'p.createdAt', 'p.updatedAt', 'r.revisionNumber', 'r.templates']);
}

const onePlaybook = prepared(({ playbookId, visible }: ParametersOf<{ readonly playbookId: string; readonly visible: Condition }>) =>
  selectPlaybooks(visible).where('p.id', '=', playbookId),
);

/** Returns one playbook that the caller sees. Throws 404, or 403 where the caller's rank is below the floor. */
export async function readPlaybook(ctx: Scoped, playbookId: string): Promise<PlaybookRow> {
  return seen(ctx, await row(ctx.em, onePlaybook({ playbookId, visible: visibleToSql(ctx, ReviewPlaybook, 'p') })));
}

const playbookList = preparedList(
  ({ scope, q, active, inactive, visible }: ParametersOf<PlaybookFilters & { readonly visible: Condition }>) => {
    let playbooks = selectPlaybooks(visible);
    if (scope) playbooks = playbooks.where('p.scope', '=', scope);
    if (q) playbooks = playbooks.where(({ ref }) => contains(q, ref('p.slug'), ref('p.name')));
    if (active) playbooks = playbooks.where('p.isActive', '=', sql.lit(true));
    if (inactive) playbooks = playbooks.where('p.isActive', '=', sql.lit(false));
    return playbooks;
  },
  [{ column: 'p.id', type: 'uuid', descending: true }],
);

/** Returns the playbooks that the caller sees, newest first. */
export async function listPlaybookRows(ctx: Scoped, filters: PlaybookFilters, page: PageRequest) {
  const found = await playbookList(ctx.em, { ...filters, visible: visibleTo(ctx, ReviewPlaybook, 'p') }, page);
  return endEarly(found, { limit: maxPageChars, sizeOf, positionOf: ({ id }) => [id] });
}

const revisionList = preparedList(
  ({ playbookId }: ParametersOf<{ readonly playbookId: string }>) => selectRevisions(playbookId),
  [{ column: 'r.revisionNumber', type: 'int', descending: true }],
);

/** Returns the revisions of a playbook that the caller has been shown, newest first. */
export async function listRevisionRows(tx: Pick<TenantTransaction, 'em'>, playbookId: string, page: PageRequest) {
  const found = await revisionList(tx.em, { playbookId }, page);
  return endEarly(found, { limit: maxPageChars, sizeOf, positionOf: ({ revisionNumber }) => [String(revisionNumber)] });
}

/** Returns one revision of a playbook, or null when the playbook has no such revision. */
export function findRevision(tx: Pick<TenantTransaction, 'em'>, { playbookId, revisionId }: RevisionKey) {
  return row(tx.em, oneRevision({ playbookId, revisionId }));
}

interface RevisionKey {
  readonly playbookId: string;
  readonly revisionId: string;
}

const oneRevision = prepared(({ playbookId, revisionId }: ParametersOf<RevisionKey>) =>
  selectRevisions(playbookId).where('r.id', '=', revisionId),
);

function selectRevisions(playbookId: Expression<string>) {
  return query
    .selectFrom('review_playbook_revisions as r')
    .innerJoin('review_playbooks as p', 'p.id', 'r.playbookId')
    .where('r.playbookId', '=', playbookId)
    .select(['r.id', 'r.playbookId', 'r.revisionNumber', 'r.templates', 'r.sha256', 'r.note', 'r.createdByUserId', 'r.createdAt'])
    .select(sql<SqlBool>`coalesce(p.active_revision_id = r.id, false)`.$castTo<boolean>().as('isActive'));
}

const defaultTemplates = prepared(() =>
  query
    .selectFrom('review_playbooks as p')
    .innerJoin('review_playbook_revisions as r', 'r.id', 'p.activeRevisionId')
    .select('r.templates')
    .where('p.scope', '=', sql.lit('platform'))
    .where('p.isDefault', '=', sql.lit(true))
    .where('p.deletedAt', 'is', null),
);

/** Returns the templates that apply where an author sets nothing: those of the platform's default playbook. */
export async function readDefaultTemplates(tx: Pick<TenantTransaction, 'em'>): Promise<ReviewTemplates> {
  const found = await row(tx.em, defaultTemplates({}));
  if (!found) throw new Error('the deployment has no default playbook');
  return found.templates;
}

function sizeOf({ templates }: { readonly templates: ReviewTemplates }): number {
  return JSON.stringify(templates).length;
}
