import { forgetReplies } from '../../domain/http/idempotency.ts';
import { listGrantRows, type KnowledgeGrantRow } from '../../db/knowledge/bases/grants.ts';
import { mapPage } from '../../db/page.ts';
import { changeGrant, makeGrant, removeGrant, seeGrantForChange } from '../../domain/knowledge/bases/grants.ts';
import { seeBase, seeGrant } from '../../domain/knowledge/bases/see-base.ts';
import { invalid } from '../../workflows/contracts/failure.ts';
import { changesOf } from '../http/operation/changes.ts';
import { list, patch, post, remove, reply, type AuditNote } from '../http/operation/operation.ts';
import { BaseParams } from './base.schema.ts';
import { GrantParams, KnowledgeGrantCreate, KnowledgeGrantUpdate, KnowledgeGrantView, toKnowledgeGrantView } from './grant.schema.ts';

const resourceType = 'knowledge_grant';

export const grantOperations = {
  listKnowledgeGrants: list(
    '/knowledge-bases/{kb_id}/grants',
    {
      summary: 'List the grants of a knowledge base',
      description: 'Grants, newest first, including expired ones. Only for managers of the base and for admins of its scope.',
      access: 'member',
      paging: 'keyset',
      params: BaseParams,
      view: KnowledgeGrantView,
    },
    async (ctx, { params }) => {
      const base = await seeBase(ctx, params.kb_id, 'grant');
      return mapPage(await listGrantRows(ctx, base.id, ctx.page), toKnowledgeGrantView);
    },
  ),

  createKnowledgeGrant: post(
    '/knowledge-bases/{kb_id}/grants',
    {
      summary: 'Grant access to a knowledge base',
      description:
        'Gives an agent, a persona, a user, a workspace, or everyone with a role or a higher one, access until the grant is revoked or expires. The principal must belong to the scope of the base: a base of the organization can be granted to any of its workspaces. Admins can grant access to private bases that they cannot read, including to themselves; this is recorded in the audit log.',
      access: 'admin',
      fails: ['already_exists', 'state_conflict'],
      audit: 'create',
      idempotent: true,
      resourceType,
      params: BaseParams,
      body: KnowledgeGrantCreate,
      view: KnowledgeGrantView,
      example: { body: { principal_kind: 'role', role: 'member', access: 'write' } },
    },
    async (ctx, { params, body }) => {
      const { principal_kind: kind, principal_id: id = null, role = null, access } = body;
      const expiresAt = ending(body.expires_at, ctx.deps.now()) ?? null;
      const grantId = await makeGrant(ctx, params.kb_id, { principal: { kind, id, role }, access, expiresAt });

      const row = await seeGrant(ctx, grantId);
      ctx.audit(noteOf(row, grantChanges(row)));
      return toKnowledgeGrantView(row);
    },
  ),

  updateKnowledgeGrant: patch(
    '/knowledge-grants/{grant_id}',
    {
      summary: 'Change a grant',
      description: 'Changes the access that it gives, or its expiry. The principal cannot be changed; create another grant instead.',
      access: 'admin',
      audit: 'update',
      etag: true,
      resourceType,
      params: GrantParams,
      body: KnowledgeGrantUpdate,
      view: KnowledgeGrantView,
      example: { body: { access: 'read' } },
    },
    async (ctx, { params, body }) => {
      const { grant, before } = await seeGrantForChange(ctx, params.grant_id);
      const expiresAt = ending(body.expires_at, ctx.deps.now());
      await changeGrant(ctx, grant, {
        ...(body.access === undefined ? {} : { access: body.access }),
        ...(expiresAt === undefined ? {} : { expiresAt }),
      });

      const row = {
        ...before,
        access: grant.access,
        expiresAt: isoOrNull(grant.expiresAt),
        version: grant.version,
        updatedAt: grant.updatedAt.toISOString(),
      };
      ctx.audit(noteOf(row, changesOf(toKnowledgeGrantView(before), toKnowledgeGrantView(row), ['access', 'expires_at'])));
      return reply(toKnowledgeGrantView(row), { version: row.version });
    },
  ),

  deleteKnowledgeGrant: remove(
    '/knowledge-grants/{grant_id}',
    {
      summary: 'Revoke a grant',
      description: 'Takes effect on the next request, and on the next call of a running run.',
      access: 'admin',
      audit: 'delete',
      openWhenSuspended: true,
      resourceType,
      params: GrantParams,
    },
    async (ctx, { params }) => {
      const { grant, before } = await seeGrantForChange(ctx, params.grant_id, { openWhenSuspended: true });
      await removeGrant(ctx, grant);
      await forgetReplies(ctx, [before.id]);
      ctx.audit(noteOf(before, grantChanges(before)));
    },
  ),
};

/** The end that a body names; undefined when it names none. Throws 422 for one that has passed. */
function ending(expiresAt: string | null | undefined, now: Date): Date | null | undefined {
  if (expiresAt === undefined || expiresAt === null) return expiresAt;
  const at = new Date(expiresAt);
  if (at <= now) throw invalid('/expires_at', 'range', 'must be in the future');
  return at;
}

function isoOrNull(at: Date | null): string | null {
  return at === null ? null : at.toISOString();
}

// The log must show who has which access.
function grantChanges({ kbId, principalKind, principalId, role, access }: KnowledgeGrantRow): AuditNote['changes'] {
  const principal = principalKind === 'role' ? `role ${role}` : `${principalKind} ${principalId}`;
  return { kb_id: { to: kbId }, principal: { to: principal }, access: { to: access } };
}

function noteOf({ id, organizationId, workspaceId }: KnowledgeGrantRow, changes: AuditNote['changes']): AuditNote {
  return { resourceType, resourceId: id, organizationId, workspaceId, changes };
}
