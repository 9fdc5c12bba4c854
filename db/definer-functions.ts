import { channelGates } from './channels/channel-gates.sql.ts';
import { reviewGates } from './code-review/bindings/hand-over.sql.ts';
import { idempotencyGates } from './http/idempotency-gates.sql.ts';
import { identityGates } from './identity/lookup/credential-lookup.sql.ts';
import type { GateCommand, GateSet } from './identity/lookup/lookup-parts.sql.ts';
import { candidateGates } from './knowledge/search/candidates.sql.ts';
import { knowledgeErasureGates } from './knowledge/upkeep/erasure.sql.ts';
import { connectionGates } from './mcp/connection-gates.sql.ts';
import { oauthGates } from './identity/lookup/oauth-lookup.sql.ts';
import { hookGates } from './webhooks/hook-gates.sql.ts';
import { appendFramesSql, streamFunctions, streamGrants } from './streams/append-frames.sql.ts';
import { impersonationGates } from './tenancy/people/impersonation-lookup.sql.ts';
import { invitationGates } from './tenancy/people/invitation-lookup.sql.ts';

const sets: readonly GateSet[] = [
  identityGates,
  oauthGates,
  invitationGates,
  impersonationGates,
  idempotencyGates,
  connectionGates,
  candidateGates,
  knowledgeErasureGates,
  hookGates,
  channelGates,
  reviewGates,
  { functions: streamFunctions, grants: streamGrants, sql: [appendFramesSql] },
];

/** Which commands the definer functions need on each table: the source of longhaul_gate's policies and grants. */
export const gateAccess: Readonly<Record<string, readonly GateCommand[] | undefined>> = mergedGrants();

/** The one list of definer functions; each belongs to longhaul_gate, and only longhaul_app may execute it. */
export const definerFunctions: readonly string[] = sets.flatMap((set) => set.functions);

/** Their definitions, in the same order. */
export const definerSql: readonly string[] = sets.flatMap((set) => set.sql);

function mergedGrants(): Record<string, readonly GateCommand[]> {
  const merged: Record<string, readonly GateCommand[]> = {};

  for (const { grants } of sets) {
    for (const [table, commands] of Object.entries(grants)) merged[table] = [...new Set([...(merged[table] ?? []), ...commands])];
  }
  return merged;
}
