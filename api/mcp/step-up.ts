import type { Caller } from '../../db/caller.ts';
import { rankOf } from '../../workflows/contracts/access.ts';
import { fail } from '../../workflows/contracts/failure.ts';
import type { RegisteredOperation } from '../http/operation/operation.ts';
import { challengeText, floorOf, missingScope } from '../http/credentials/role-floor.ts';
import { oauthScopes } from '../http/credentials/scopes.ts';
import type { RawCtx } from './exchange.ts';

/**
 * Refuses calls beyond the scopes of the credential before any of them is carried out: 403 `scope_insufficient` of the request itself, whose challenge
 * is `insufficient_scope` (RFC 6750 §3.1) and names what is held with what is lacking, since a client asks for exactly that and would lose the rest (MCP
 * 2025-11-25, authorization: scope challenge handling). What the role forbids no scope would mend: that stays the tool's own answer.
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
