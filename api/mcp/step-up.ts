import type { Caller } from '../../db/caller.ts';
import { rankOf } from '../../workflows/contracts/access.ts';
import { fail } from '../../workflows/contracts/failure.ts';
import type { RegisteredOperation } from '../http/operation/operation.ts';
import { challengeText, floorOf, missingScope } from '../http/credentials/role-floor.ts';
import { oauthScopes } from '../http/credentials/scopes.ts';
import type { RawCtx } from './exchange.ts';

/**
 * Refuses calls beyond the credential's scopes before any of them is executed: 403 `scope_insufficient` for the whole request, with the challenge
 * `insufficient_scope` (RFC 6750 §3.1). The challenge names the scopes that the caller holds and those that are missing, since a client requests exactly these
 * and would lose the rest (MCP 2025-11-25, authorization: scope challenge handling). If the role forbids a call, no scope would help: the result of the tool
 * reports that.
 */
export function demandScopes({ caller, deps }: Pick<RawCtx, 'caller' | 'deps'>, tools: readonly RegisteredOperation[]): void {
  const lacking = [...new Set(tools.filter((tool) => isWithinRole(tool, caller)).flatMap((tool) => missingScope(tool, caller) ?? []))];
  if (lacking.length === 0) return;

  const scopes = [...new Set([...(caller.scopes ?? []), ...lacking])].filter((scope) => oauthScopes.has(scope));
  throw fail('scope_insufficient', {
    detail: `The credential lacks the scope ${lacking.join(' and ')}.`,
    context: { required_scopes: lacking },
    headers: { 'www-authenticate': challengeText(deps.env.publicUrl, { resource: 'mcp', scopes, error: 'insufficient_scope' }) },
  });
}

function isWithinRole(tool: RegisteredOperation, { role }: Caller): boolean {
  const floor = floorOf(tool);
  return floor === null || rankOf(role) >= rankOf(floor);
}
