import Type from 'typebox';
import type { KnowledgeGrantRow } from '../../db/knowledge/bases/grants.ts';
import { knowledgeAccesses, knowledgePrincipalKinds } from '../../db/knowledge/bases/knowledge-grant.entity.ts';
import { iso } from '../../db/sql.ts';
import { closed, given, idOf, nullable, oneOf, stating, text, Timestamp } from '../http/input/schema.ts';

export const GrantParams = closed({ grant_id: idOf('KnowledgeGrant') });

/** Roles that a grant can name: an operator needs none. */
const grantedRoles = ['viewer', 'member', 'admin', 'owner'] as const;
const access = oneOf(knowledgeAccesses, { description: 'Each level includes those before it' });
const expires = nullable(Timestamp);

export const KnowledgeGrantView = closed(
  {
    id: idOf('KnowledgeGrant'),
    kb_id: idOf('KnowledgeBase'),
    principal_kind: oneOf(knowledgePrincipalKinds),
    principal_id: nullable(idOf('Other', 'The agent, persona, user or workspace; null for a role')),
    role: nullable(oneOf(['viewer', 'member', 'admin', 'owner', 'operator'], { description: 'This role and higher ones' })),
    access,
    expires_at: expires,
    created_by_user_id: nullable(idOf('User')),
    etag: text(40, { minLength: 1, description: 'For If-Match' }),
    created_at: Timestamp,
    updated_at: Timestamp,
  },
  { $id: 'KnowledgeGrantView', description: 'Access to a knowledge base beyond that of its scope' },
);

export const KnowledgeGrantCreate = stating(
  closed(
    {
      principal_kind: oneOf(knowledgePrincipalKinds),
      principal_id: Type.Optional(nullable(idOf('Other', 'The agent, persona, user or workspace'))),
      role: Type.Optional(nullable(oneOf(grantedRoles, { description: 'Only with kind role' }))),
      access,
      expires_at: Type.Optional(expires),
    },
    { $id: 'KnowledgeGrantCreate' },
  ),
  {
    oneOf: [
      { properties: { principal_kind: { const: 'role' }, principal_id: { type: 'null' } }, allOf: [given('role')] },
      { properties: { principal_kind: { not: { const: 'role' } }, role: { type: 'null' } }, allOf: [given('principal_id')] },
    ],
  },
);

export const KnowledgeGrantUpdate = closed(
  { access: Type.Optional(access), expires_at: Type.Optional(expires) },
  { $id: 'KnowledgeGrantUpdate' },
);

/** The wire form of a grant. */
export function toKnowledgeGrantView(row: KnowledgeGrantRow) {
  return {
    id: row.id,
    kb_id: row.kbId,
    principal_kind: row.principalKind,
    principal_id: row.principalId,
    role: row.role,
    access: row.access,
    expires_at: iso(row.expiresAt),
    created_by_user_id: row.createdByUserId,
    etag: `"${row.version}"`,
    created_at: iso(row.createdAt),
    updated_at: iso(row.updatedAt),
  };
}
