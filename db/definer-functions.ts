import { channelFunctions } from './channels/channel-functions.sql.ts';
import { reviewFunctions } from './code-review/bindings/hand-over.sql.ts';
import { idempotencyFunctions } from './http/idempotency-functions.sql.ts';
import { credentialFunctions } from './identity/lookup/credential-lookup.sql.ts';
import type { TableCommand, DefinerFunctions } from './identity/lookup/lookup-parts.sql.ts';
import { candidateFunctions } from './knowledge/search/candidates.sql.ts';
import { knowledgeErasureFunctions } from './knowledge/upkeep/erasure.sql.ts';
import { connectionFunctions } from './mcp/connection-functions.sql.ts';
import { oauthFunctions } from './identity/lookup/oauth-lookup.sql.ts';
import { hookFunctions } from './webhooks/hook-functions.sql.ts';
import { appendFramesSql, streamFunctions, streamGrants } from './streams/append-frames.sql.ts';
import { impersonationFunctions } from './tenancy/people/impersonation-lookup.sql.ts';
import { invitationFunctions } from './tenancy/people/invitation-lookup.sql.ts';

const sets: readonly DefinerFunctions[] = [
  credentialFunctions,
  oauthFunctions,
  invitationFunctions,
  impersonationFunctions,
  idempotencyFunctions,
  connectionFunctions,
  candidateFunctions,
  knowledgeErasureFunctions,
  hookFunctions,
  channelFunctions,
  reviewFunctions,
  { functions: streamFunctions, grants: streamGrants, sql: [appendFramesSql] },
];

/** Which commands the definer functions need on each table: the source of longhaul_gate's policies and grants. */
export const functionGrants: Readonly<Record<string, readonly TableCommand[] | undefined>> = mergedGrants();

/** The one list of definer functions; each belongs to longhaul_gate, and only longhaul_app may execute it. */
export const definerFunctions: readonly string[] = sets.flatMap((set) => set.functions);

/** Their definitions, in the same order. */
export const definerSql: readonly string[] = sets.flatMap((set) => set.sql);

function mergedGrants(): Record<string, readonly TableCommand[]> {
  const merged: Record<string, readonly TableCommand[]> = {};

  for (const { grants } of sets) {
    for (const [table, commands] of Object.entries(grants)) merged[table] = [...new Set([...(merged[table] ?? []), ...commands])];
  }
  return merged;
}
