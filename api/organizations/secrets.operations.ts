import type { Static } from 'typebox';
import { mapPage } from '../../db/page.ts';
import type { Secret } from '../../db/secrets/secret.entity.ts';
import { listSecretRows, type SecretRow } from '../../db/secrets/secrets.ts';
import type { SecretBefore } from '../../db/secrets/write-secrets.ts';
import { deleteSecret, putSecretRow } from '../../domain/secrets/secrets.ts';
import { type RowScope, resolveNewRowScope } from '../../db/new-row-scope.ts';
import { fail, Failure } from '../../workflows/contracts/failure.ts';
import { list, put, remove, type AuditNote, type Ctx } from '../http/operation/operation.ts';
import { putSecretRight } from '../http/credentials/secret-right.ts';
import { SecretFilters, SecretParams, SecretScope, SecretPut, SecretView, toSecretView } from './secret.schema.ts';

export const secretOperations = {
  listSecrets: list(
    '/secrets',
    {
      summary: 'List secrets',
      description:
        'Names and scopes of the secrets that the caller can see, by name; values are never returned. Secrets of a single tool are not included.',
      access: 'member',
      paging: 'keyset',
      order: 'name',
      query: SecretFilters,
      view: SecretView,
    },
    async (ctx, { query: { workspace_id: workspaceId, ...filters } }) =>
      mapPage(await listSecretRows(ctx, { ...filters, workspaceId }, ctx.page), toSecretView),
  ),

  putSecret: put(
    '/secrets/{name}',
    {
      summary: 'Set a secret',
      description:
        'Creates or replaces the secret of a name in one scope. An omitted description is kept. Tools use the new value from their next call on.',
      ...putSecretRight,
      params: SecretParams,
      body: SecretPut,
      view: SecretView,
      example: { body: { value: 'x3k-90-example', description: 'Key of the order service' } },
    },
    async (ctx, { params, body }) => {
      const rowScope = await resolveNewRowScope(ctx, { scope: body.scope, workspace_id: body.workspace_id });
      const secret = { name: params.name, value: body.value, description: body.description };
      const { row, before } = await putSecretRow(ctx, ctx.deps.keys, { rowScope, secret });

      ctx.audit(noteOfPut(row, before));
      return toSecretView(row);
    },
  ),

  deleteSecret: remove(
    '/secrets/{name}',
    {
      summary: 'Delete a secret',
      description:
        'Deletes the secret of a name in one scope. While a tool needs it and has no other value for it, the answer is 409 with the ids of at most 20 such tools.',
      access: 'admin',
      fails: ['state_conflict'],
      audit: 'delete',
      notDelegable: true,
      openWhenSuspended: true,
      params: SecretParams,
      query: SecretScope,
    },
    async (ctx, { params, query }) => {
      const secret = await deleteSecret(ctx, await placeOfSecret(ctx, query), params.name);

      ctx.audit({ ...placeNote(secret), resourceId: secret.id, label: secret.name });
    },
  ),
};

/** The one place that is meant. A workspace that is named need not be seen: then nothing is found there. */
async function placeOfSecret(ctx: Ctx, query: Static<typeof SecretScope>): Promise<Pick<RowScope, 'scope' | 'workspaceId'>> {
  if (query.workspace_id === undefined) return resolveNewRowScope(ctx, query, { openWhenSuspended: true }).catch(toQueryFailure);
  if (query.scope !== undefined && query.scope !== 'workspace')
    throw invalidQuery('range', `must be omitted: a secret of scope ${query.scope} has no workspace`);
  return { scope: 'workspace', workspaceId: query.workspace_id };
}

/** What the rule of new rows says of the body stands in the query here. */
function toQueryFailure(error: unknown): never {
  const violation = error instanceof Failure && error.code === 'validation_failed' ? error.errors[0] : undefined;
  throw violation ? invalidQuery(violation.rule, violation.message, violation.pointer?.slice(1)) : error;
}

function invalidQuery(rule: string, message: string, name = 'workspace_id'): Failure {
  return fail('validation_failed', { detail: message, errors: [{ in: 'query', pointer: null, name, rule, message }] });
}

function noteOfPut(row: SecretRow, before: SecretBefore | null): AuditNote {
  const isDescribedAnew = row.description !== (before?.description ?? null);
  return {
    resourceType: 'secret',
    resourceId: row.id,
    label: row.name,
    organizationId: row.organizationId,
    workspaceId: row.workspaceId,
    changes: {
      value: { changed: true },
      value_version: { from: before?.valueVersion ?? null, to: row.valueVersion },
      ...(isDescribedAnew ? { description: { from: before?.description ?? null, to: row.description } } : {}),
    },
  };
}

function placeNote({ organizationId, workspaceId }: Secret): Pick<AuditNote, 'resourceType' | 'organizationId' | 'workspaceId'> {
  return { resourceType: 'secret', organizationId, workspaceId };
}
