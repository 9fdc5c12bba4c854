import { row, rows } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import type { McpPrincipal } from './connection-queries.ts';

/** A call of a tool whose toolkit has a separate grant for each user, and the user for whom its run works. */
export interface ConsentingCall {
  readonly tool_id: string | null;
  readonly subject_kind: string | null;
  readonly subject_id: string | null;
}

/** Where the user has to consent, and when the link expires. */
export interface ConsentLink {
  readonly url: string;
  readonly until: Date;
}

/** Returns the state of the consent for a call: a usable grant, or an open link; null: neither. */
export async function readConsent(tx: TenantTransaction, call: ConsentingCall): Promise<'granted' | ConsentLink | null> {
  if (call.tool_id === null || call.subject_kind !== 'user') return null;
  const found = await row<{ state: string; url: string | null; until: string | null }>(
    tx.em,
    `select c.state, c.authorization_url as url, (${openUntil}) as until
       from mcp_connections c join tools t on t.toolkit_id = c.toolkit_id where t.id = ? and c.principal_kind = 'user' and c.principal_id = ?::uuid`,
    [call.tool_id, call.subject_id],
  );
  if (found?.state === 'healthy') return 'granted';
  return found && found.url !== null && found.until !== null ? { url: found.url, until: new Date(found.until) } : null;
}

const openUntil = `select max(a.expires_at) from mcp_authorizations a where a.connection_id = c.id and a.used_at is null and a.expires_at > now()`;

/** Returns the link of a pending consent that stays valid for a while, or null when there is none. */
export async function openConsentUrl(tx: TenantTransaction, toolkitId: string, principal: McpPrincipal): Promise<string | null> {
  const found = await row<{ url: string | null }>(
    tx.em,
    `select c.authorization_url as url from mcp_connections c
      where c.toolkit_id = ? and c.principal_kind = ? and c.principal_id is not distinct from ?::uuid and c.state = 'needs_auth'
        and (${openUntil}) > now() + interval '1 minute'`,
    [toolkitId, principal.kind, principal.id],
  );
  return found?.url ?? null;
}

/** Returns the runs of a user that wait for the consent to a toolkit, by their ids. */
export async function runsAwaitingConsent(tx: TenantTransaction, toolkitId: string, principal: McpPrincipal): Promise<string[]> {
  const waiting = await rows<{ run_id: string }>(
    tx.em,
    `select distinct a.run_id from approvals a join runs r on r.id = a.run_id join tool_calls c on c.id = a.tool_call_id join tools t on t.id = c.tool_id
      where a.status = 'pending' and a.reason = 'auth' and t.toolkit_id = ? and r.subject_kind = 'user' and r.subject_id = ?::text order by a.run_id`,
    [toolkitId, principal.id],
  );
  return waiting.map(({ run_id: runId }) => runId);
}

/** Returns the toolkit of the tool that a call uses, or null when the tool has none or is deleted. */
export async function readToolkitOfCall(tx: TenantTransaction, toolCallId: string): Promise<string | null> {
  const found = await row<{ toolkit_id: string | null }>(
    tx.em,
    'select t.toolkit_id from tool_calls c join tools t on t.id = c.tool_id where c.id = ? and t.deleted_at is null',
    [toolCallId],
  );
  return found?.toolkit_id ?? null;
}
