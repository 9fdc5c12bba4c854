import { listBindingRows, readBinding, type BindingRow } from '../../db/code-review/bindings/bindings.ts';
import { RepoBinding } from '../../db/code-review/bindings/repo-binding.entity.ts';
import { forgetReplies } from '../../domain/http/idempotency.ts';
import { resolveNewRowWorkspace } from '../../db/new-row-scope.ts';
import { mapPage } from '../../db/page.ts';
import { seeForChange } from '../../db/scope.ts';
import { changeBinding, deleteBinding, keyOf, makeBinding, type BindingDeps } from '../../domain/code-review/bindings.ts';
import { createEvaluatorWork } from '../../ports/evaluations/evaluator-work.ts';
import { changesOf } from '../http/operation/changes.ts';
import { get, list, patch, post, remove, reply, type AuditNote, type Ctx } from '../http/operation/operation.ts';
import {
  BindingFilters,
  BindingParams,
  changedBindingFields,
  newBindingFields,
  RepoBindingCreate,
  RepoBindingUpdate,
  RepoBindingView,
  toRepoBindingView,
} from './binding.schema.ts';
import { proveChangedBinding, proveNewBinding } from './prove-repository.ts';

const resourceType = 'repo_binding';

export const bindingOperations = {
  createRepoBinding: post(
    '/repo-bindings',
    {
      summary: 'Bind a repository',
      description:
        'Lets agents of the workspace review the pull requests of a repository. The workspace must first be proved to own the installation: by its secrets github_app_id and github_app_private_key, or because an operator has listed it; otherwise 404.',
      access: 'admin',
      fails: ['not_found', 'already_exists', 'upstream_failed', 'upstream_timeout'],
      audit: 'create',
      idempotent: true,
      resourceType,
      location: (view: { readonly id: string }) => `/repo-bindings/${view.id}`,
      body: RepoBindingCreate,
      view: RepoBindingView,
      identify: proveNewBinding,
      example: {
        body: {
          installation_id: 1234567,
          repo_full_name: 'acme/shop',
          reviewer_agent_id: '01960000-0000-7000-8000-000000000001',
          review_config: { drafts: false, filters: { paths: ['!docs/**'] } },
        },
      },
    },
    async (ctx, { body, identified }) => {
      const place = await resolveNewRowWorkspace(ctx, body.workspace_id);
      const id = await makeBinding(ctx, depsOf(ctx, place.organizationId), { ...newBindingFields(body), ...identified, ...place });
      const row = await readBinding(ctx, id);
      ctx.audit(noteOf(row));
      return toRepoBindingView(row);
    },
  ),

  listRepoBindings: list(
    '/repo-bindings',
    {
      summary: 'List bound repositories',
      description: 'Bindings that the caller can see, newest first.',
      access: 'viewer',
      paging: 'keyset',
      query: BindingFilters,
      view: RepoBindingView,
    },
    async (ctx, { query: { installation_id: installationId, repo_full_name: fullName, is_active: isActive } }) => {
      const active = isActive === true ? (true as const) : undefined;
      const inactive = isActive === false ? (true as const) : undefined;
      const repoKey = fullName === undefined ? undefined : keyOf(fullName);
      return mapPage(await listBindingRows(ctx, { installationId, repoKey, active, inactive }, ctx.page), toRepoBindingView);
    },
  ),

  getRepoBinding: get(
    '/repo-bindings/{binding_id}',
    {
      summary: 'Read a bound repository',
      description: 'Returns one binding with its complete configuration.',
      access: 'viewer',
      etag: true,
      params: BindingParams,
      view: RepoBindingView,
    },
    async (ctx, { params }) => {
      const row = await readBinding(ctx, params.binding_id);
      return reply(toRepoBindingView(row), { version: row.version });
    },
  ),

  updateRepoBinding: patch(
    '/repo-bindings/{binding_id}',
    {
      summary: 'Change a bound repository',
      description:
        'Changes the fields that are sent, each configuration as a whole, and keeps the rest. A new installation must be proved again. Deactivating the binding cancels running reviews.',
      access: 'admin',
      fails: ['not_found', 'already_exists', 'upstream_failed', 'upstream_timeout'],
      audit: 'update',
      etag: true,
      resourceType,
      params: BindingParams,
      body: RepoBindingUpdate,
      view: RepoBindingView,
      identify: proveChangedBinding,
      example: { body: { enabled_events: ['pull_request', 'command.review'], review_config: { debounce_seconds: 60 } } },
    },
    async (ctx, { params, body, identified }) => {
      const before = await readBinding(ctx, params.binding_id);
      const binding = await seeForChange(ctx, RepoBinding, params.binding_id);
      await changeBinding(ctx, depsOf(ctx, binding.organizationId), { binding, change: changedBindingFields(body), proven: identified });
      const row = await readBinding(ctx, binding.id);
      ctx.audit(noteOf(row, changesOf(toRepoBindingView(before), toRepoBindingView(row), audited)));
      return reply(toRepoBindingView(row), { version: row.version });
    },
  ),

  deleteRepoBinding: remove(
    '/repo-bindings/{binding_id}',
    {
      summary: 'Unbind a repository',
      description: 'The repository is no longer reviewed, and running reviews are cancelled. What was posted stays.',
      access: 'admin',
      audit: 'delete',
      openWhenSuspended: true,
      resourceType,
      params: BindingParams,
    },
    async (ctx, { params }) => {
      const row = await readBinding(ctx, params.binding_id);
      const binding = await seeForChange(ctx, RepoBinding, params.binding_id, { versionProperty: null, openWhenSuspended: true });
      await deleteBinding(ctx, binding, ctx.deps.now());
      await forgetReplies(ctx, [binding.id]);
      ctx.audit(noteOf(row));
    },
  ),
};

const audited = [
  'installation_id',
  'repo_full_name',
  'reviewer_agent_id',
  'editor_agent_id',
  'enabled_events',
  'review_config',
  'editor_config',
  'budget_config',
  'workspace_config',
  'is_active',
] as const;

function depsOf({ deps }: Pick<Ctx, 'deps'>, organizationId: string): BindingDeps {
  const work = createEvaluatorWork(deps.work, deps.schemas, organizationId);
  return { codeExec: deps.codeExec, isPattern: async (pattern) => (await work.find(pattern, '', null)) === 'missing' };
}

function noteOf({ id, repoFullName, organizationId, workspaceId }: BindingRow, changes: AuditNote['changes'] = {}): AuditNote {
  return { resourceType, resourceId: id, label: repoFullName, organizationId, workspaceId, changes };
}
