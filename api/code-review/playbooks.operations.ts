import {
  findRevision,
  listPlaybookRows,
  listRevisionRows,
  readPlaybook,
  type PlaybookRow,
} from '../../db/code-review/playbooks/playbooks.ts';
import { ReviewPlaybook } from '../../db/code-review/playbooks/review-playbook.entity.ts';
import { forgetReplies } from '../../domain/http/idempotency.ts';
import { resolveNewRowScope } from '../../db/new-row-scope.ts';
import { mapPage } from '../../db/page.ts';
import { organizationOf, ownScopeOf } from '../../db/caller-scope.ts';
import { seeForChange } from '../../db/scope.ts';
import { addPlaybookRevision, changePlaybook, deletePlaybook, makePlaybook, readTemplates } from '../../domain/code-review/playbooks.ts';
import { scopes, type Scope } from '../../workflows/contracts/access.ts';
import { fail } from '../../workflows/contracts/failure.ts';
import { noteOfNamed } from '../http/operation/audit.ts';
import { changesOf } from '../http/operation/changes.ts';
import { get, list, patch, post, remove, reply, type Ctx } from '../http/operation/operation.ts';
import {
  changedPlaybookFields,
  PlaybookClone,
  PlaybookFilters,
  PlaybookParams,
  refuseEmpty,
  ReviewPlaybookCreate,
  ReviewPlaybookRevisionCreate,
  ReviewPlaybookRevisionView,
  ReviewPlaybookUpdate,
  ReviewPlaybookView,
  toPlaybookRevisionView,
  toReviewPlaybookView,
} from './playbook.schema.ts';

const resourceType = 'review_playbook';
const location = (view: { readonly id: string }) => `/review-playbooks/${view.id}`;

export const playbookOperations = {
  listReviewPlaybooks: list(
    '/review-playbooks',
    {
      summary: 'List playbooks',
      description:
        'Playbooks that the caller can see, including those of the platform, newest first. q searches slug and name. A page ends early at 4 MiB.',
      access: 'viewer',
      paging: 'keyset',
      query: PlaybookFilters,
      view: ReviewPlaybookView,
    },
    async (ctx, { query: { scope, q, is_active: isActive } }) => {
      const active = isActive === true ? (true as const) : undefined;
      const inactive = isActive === false ? (true as const) : undefined;
      return mapPage(await listPlaybookRows(ctx, { scope, q, active, inactive }, ctx.page), toReviewPlaybookView);
    },
  ),

  createReviewPlaybook: post(
    '/review-playbooks',
    {
      summary: 'Create a playbook',
      description:
        'Creates a playbook, which defines how pull requests are reviewed. Omitted templates are taken from the platform default. Every prompt is rendered with a sample: an unknown variable is 422.',
      access: 'admin',
      fails: ['not_found', 'already_exists'],
      audit: 'create',
      idempotent: true,
      resourceType,
      location,
      body: ReviewPlaybookCreate,
      view: ReviewPlaybookView,
      example: {
        body: { slug: 'strict', name: 'Strict', templates: { confidence: { min: 0.85 }, limits: { max_findings: 5 } } },
      },
    },
    async (ctx, { body }) => {
      const rowScope = await resolveNewRowScope(ctx, { scope: body.scope, workspace_id: body.workspace_id });
      const templates = await readTemplates(ctx, depsOf(ctx), body.templates ?? {});
      const id = await makePlaybook(ctx, {
        rowScope,
        slug: body.slug,
        name: body.name,
        description: body.description ?? null,
        isDefault: body.is_default ?? false,
        isActive: body.is_active ?? true,
        createdByUserId: ctx.caller.userId,
        templates,
        note: null,
      });
      return created(ctx, id);
    },
  ),

  getReviewPlaybook: get(
    '/review-playbooks/{playbook_id}',
    {
      summary: 'Read a playbook',
      description: 'Returns one playbook with the templates of its active revision.',
      access: 'viewer',
      etag: true,
      params: PlaybookParams,
      view: ReviewPlaybookView,
    },
    async (ctx, { params }) => {
      const row = await readPlaybook(ctx, params.playbook_id);
      return reply(toReviewPlaybookView(row), { version: row.version });
    },
  ),

  updateReviewPlaybook: patch(
    '/review-playbooks/{playbook_id}',
    {
      summary: 'Change a playbook',
      description:
        'Changes the fields that are sent and keeps the rest. active_revision_id activates a revision or goes back to an earlier one; running reviews keep theirs.',
      access: 'admin',
      fails: ['state_conflict'],
      audit: 'update',
      etag: true,
      resourceType,
      params: PlaybookParams,
      body: ReviewPlaybookUpdate,
      view: ReviewPlaybookView,
      example: { body: { name: 'Strict', is_default: true } },
    },
    async (ctx, { params, body }) => {
      const before = await readPlaybook(ctx, params.playbook_id);
      const playbook = await seeForChange(ctx, ReviewPlaybook, params.playbook_id);
      await changePlaybook(ctx, playbook, changedPlaybookFields(body));
      const row = await readPlaybook(ctx, playbook.id);
      ctx.audit(noteOfNamed(resourceType, playbook, changesOf(toReviewPlaybookView(before), toReviewPlaybookView(row), audited)));
      return reply(toReviewPlaybookView(row), { version: row.version });
    },
  ),

  deleteReviewPlaybook: remove(
    '/review-playbooks/{playbook_id}',
    {
      summary: 'Delete a playbook',
      description:
        'Deletes the playbook and frees its slug. 409 while a binding uses it or it is a default. Running reviews continue to use it.',
      access: 'admin',
      fails: ['state_conflict'],
      audit: 'delete',
      openWhenSuspended: true,
      resourceType,
      params: PlaybookParams,
    },
    async (ctx, { params }) => {
      await readPlaybook(ctx, params.playbook_id);
      const playbook = await seeForChange(ctx, ReviewPlaybook, params.playbook_id, { versionProperty: null, openWhenSuspended: true });
      await deletePlaybook(ctx, playbook, ctx.deps.now());
      await forgetReplies(ctx, [playbook.id]);
      ctx.audit(noteOfNamed(resourceType, playbook));
    },
  ),

  cloneReviewPlaybook: post(
    '/review-playbooks/{playbook_id}/clone',
    {
      summary: 'Clone a playbook',
      description:
        'Copies the active revision as revision 1 of a new playbook. The scope defaults to that of the original, or to that of the caller if that is narrower; it can never exceed the caller’s own scope.',
      access: 'admin',
      fails: ['already_exists'],
      audit: 'create',
      idempotent: true,
      resourceType,
      location,
      params: PlaybookParams,
      body: PlaybookClone,
      view: ReviewPlaybookView,
      example: { body: { slug: 'ours', name: 'Ours' } },
    },
    async (ctx, { params, body }) => {
      const original = await readPlaybook(ctx, params.playbook_id);
      const rowScope = await resolveNewRowScope(ctx, placeOfClone(ctx, original, body.scope ?? null));
      const { description, templates } = original;
      const name = body.name ?? original.name;
      const made = { rowScope, slug: body.slug, name, description, templates, note: null, createdByUserId: ctx.caller.userId };
      return created(ctx, await makePlaybook(ctx, { ...made, isDefault: false, isActive: true }));
    },
  ),

  listReviewPlaybookRevisions: list(
    '/review-playbooks/{playbook_id}/revisions',
    {
      summary: 'List the revisions of a playbook',
      description: 'All revisions with their templates, newest first. A page ends early at 4 MiB.',
      access: 'viewer',
      paging: 'keyset',
      params: PlaybookParams,
      view: ReviewPlaybookRevisionView,
    },
    async (ctx, { params }) => {
      await readPlaybook(ctx, params.playbook_id);
      return mapPage(await listRevisionRows(ctx, params.playbook_id, ctx.page), toPlaybookRevisionView);
    },
  ),

  createReviewPlaybookRevision: post(
    '/review-playbooks/{playbook_id}/revisions',
    {
      summary: 'Add a revision to a playbook',
      description: 'Stores an immutable revision with the next number; new reviews use it once it is activated.',
      access: 'admin',
      audit: 'create',
      idempotent: true,
      resourceType: 'review_playbook_revision',
      params: PlaybookParams,
      body: ReviewPlaybookRevisionCreate,
      view: ReviewPlaybookRevisionView,
      example: { body: { templates: { ignore_rules: ['Missing comments.'] }, note: 'No remarks about comments', activate: true } },
    },
    async (ctx, { params, body }) => {
      refuseEmpty(body.templates);
      const playbook = await seeForChange(ctx, ReviewPlaybook, params.playbook_id, { versionProperty: null });
      const templates = await readTemplates(ctx, depsOf(ctx), body.templates);
      const revision = { templates, note: body.note ?? null, createdByUserId: ctx.caller.userId, activate: body.activate ?? false };
      const revisionId = await addPlaybookRevision(ctx, playbook, revision);
      const row = await findRevision(ctx, { playbookId: playbook.id, revisionId });
      if (!row) throw fail('not_found');
      ctx.audit({ ...noteOfNamed('review_playbook_revision', playbook), resourceId: revisionId });
      return toPlaybookRevisionView(row);
    },
  ),
};

const audited = ['name', 'description', 'is_default', 'is_active', 'active_revision_id'] as const;

async function created(ctx: Ctx, id: string) {
  const row = await readPlaybook(ctx, id);
  ctx.audit(noteOfNamed(resourceType, row));
  return toReviewPlaybookView(row);
}

/** A tenant's content is not shown to others unless that scope is requested: the copy has no wider scope than the original. */
function placeOfClone({ caller }: Pick<Ctx, 'caller'>, original: PlaybookRow, asked: Scope | null) {
  const own = ownScopeOf(caller);
  const scope = asked ?? (scopes.indexOf(original.scope) < scopes.indexOf(own) ? original.scope : own);
  return { scope, workspace_id: scope === 'workspace' && own !== 'workspace' ? original.workspaceId : null };
}

function depsOf({ deps, caller }: Pick<Ctx, 'deps' | 'caller'>) {
  return { templates: deps.templates.of(organizationOf(caller)) };
}
