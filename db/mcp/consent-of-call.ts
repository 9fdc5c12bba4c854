import { type Expression, sql } from 'kysely';
import { query } from '../query.ts';
import { row, rows } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import type { McpPrincipal } from './connection-queries.ts';

/** A call of a tool whose toolkit has a separate grant for each user, and the user for whom its run works. */
export interface ConsentingCall {
  readonly toolId: string | null;
  readonly subjectKind: string | null;
  readonly subjectId: string | null;
}

/** Where the user has to consent, and when the link expires. */
export interface ConsentLink {
  readonly url: string;
  readonly until: Date;
}

/** Returns the state of the consent for a call: a usable grant, or an open link; null: neither. */
export async function readConsent(tx: TenantTransaction, call: ConsentingCall): Promise<'granted' | ConsentLink | null> {
  if (call.toolId === null || call.subjectKind !== 'user') return null;
  const found = await row(
    tx.em,
    query
      .selectFrom('mcp_connections as c')
      .innerJoin('tools as t', 't.toolkitId', 'c.toolkitId')
      .select(['c.state', 'c.authorizationUrl as url'])
      .select(({ ref }) => openUntil(ref('c.id')).as('until'))
      .where('t.id', '=', call.toolId)
      .where('c.principalKind', '=', sql.lit('user'))
      .where('c.principalId', '=', call.subjectId),
  );
  if (found?.state === 'healthy') return 'granted';
  return found && found.url !== null && found.until !== null ? { url: found.url, until: new Date(found.until) } : null;
}

/** Until when a link of a connection can be used. */
function openUntil(connectionId: Expression<string>) {
  return query
    .selectFrom('mcp_authorizations as a')
    .select(({ fn }) => fn.max('a.expiresAt').as('until'))
    .where('a.connectionId', '=', connectionId)
    .where('a.usedAt', 'is', null)
    .where('a.expiresAt', '>', sql<string>`now()`);
}

/** Returns the link of a pending consent that stays valid for a while, or null when there is none. */
export async function openConsentUrl(tx: TenantTransaction, toolkitId: string, principal: McpPrincipal): Promise<string | null> {
  const found = await row(
    tx.em,
    query
      .selectFrom('mcp_connections as c')
      .select('c.authorizationUrl as url')
      .where('c.toolkitId', '=', toolkitId)
      .where('c.principalKind', '=', principal.kind)
      .where('c.principalId', 'is not distinct from', principal.id)
      .where('c.state', '=', 'needs_auth')
      .where(({ eb, ref }) => eb(openUntil(ref('c.id')), '>', sql<string>`now() + interval '1 minute'`)),
  );
  return found?.url ?? null;
}

/** Returns the runs of a user that wait for the consent to a toolkit, by their ids. */
export async function runsAwaitingConsent(tx: TenantTransaction, toolkitId: string, principal: McpPrincipal): Promise<string[]> {
  const waiting = await rows(
    tx.em,
    query
      .selectFrom('approvals as a')
      .innerJoin('runs as r', 'r.id', 'a.runId')
      .innerJoin('tool_calls as c', 'c.id', 'a.toolCallId')
      .innerJoin('tools as t', 't.id', 'c.toolId')
      .select('a.runId')
      .distinct()
      .where('a.status', '=', sql.lit('pending'))
      .where('a.reason', '=', 'auth')
      .where('t.toolkitId', '=', toolkitId)
      .where('r.subjectKind', '=', 'user')
      .where('r.subjectId', '=', principal.id)
      .orderBy('a.runId'),
  );
  return waiting.map(({ runId }) => runId);
}

/** Returns the toolkit of the tool that a call uses, or null when the tool has none or is deleted. */
export async function readToolkitOfCall(tx: TenantTransaction, toolCallId: string): Promise<string | null> {
  const found = await row(
    tx.em,
    query
      .selectFrom('tool_calls as c')
      .innerJoin('tools as t', 't.id', 'c.toolId')
      .select('t.toolkitId')
      .where('c.id', '=', toolCallId)
      .where('t.deletedAt', 'is', null),
  );
  return found?.toolkitId ?? null;
}
