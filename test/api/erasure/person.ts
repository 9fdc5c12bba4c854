import { newId } from '../../../db/ids.ts';
import { sweep } from '../../../db/transaction.ts';
import { change } from '../../../db/sql.ts';
import type { TestTenant } from '../../support/tenant.ts';
import type { People } from '../users/people.ts';

/** A person's own grant to a toolkit, in a workspace of their organization, with words in it. */
export async function addConsent(
  { api }: People,
  { organizationId, workspaceId }: TestTenant,
  { userId, words }: { readonly userId: string; readonly words: string },
): Promise<void> {
  const [toolkitId, connectionId] = [newId(), newId()];
  await sweep(api.db, async (em) => {
    await change(
      em,
      `insert into toolkits (id, organization_id, workspace_id, scope, slug, name, kind) values (?, ?, ?, 'workspace', ?, 'Server', 'mcp')`,
      [toolkitId, organizationId, workspaceId, `kit-${toolkitId.slice(-8)}`],
    );
    await change(
      em,
      `insert into mcp_connections (id, toolkit_id, organization_id, workspace_id, principal_kind, principal_id, issuer, state, created_at, updated_at)
       values (?, ?, ?, ?, 'user', ?, ?, 'healthy', now(), now())`,
      [connectionId, toolkitId, organizationId, workspaceId, userId, words],
    );
    await change(
      em,
      `insert into mcp_authorizations (state_hash, connection_id, organization_id, workspace_id, verifier_enc, expires_at) values (?, ?, ?, ?, ?, now())`,
      [words, connectionId, organizationId, workspaceId, Buffer.from(words)],
    );
  });
}

/** What is stored under a key, each reply's body. */
export async function storedReplyOf(people: People, key: string): Promise<(string | null)[]> {
  const found = await people.rows<{ body: Buffer | null }>('select body from idempotency_keys where key = ?', [key]);
  return found.map(({ body }) => body && body.toString());
}
