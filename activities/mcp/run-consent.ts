import { openConsentUrl, wakeConsenting } from '../../db/mcp/consent-of-call.ts';
import { McpOauthError } from '../../ports/mcp-oauth.ts';
import type { McpError } from '../../ports/mcp-errors.ts';
import { consentNeeded, exchangeReturned, type ConsentDeps } from './consent.ts';
import type { McpAsker } from './credentials.ts';

/** A run may wait for its user for so long. */
const linkS = 86_400;

/**
 * A server wants the consent of the user for whom a run works. `isGranted`: the consent has come back and is good, the call can be made. `isAsked`: one is
 * under way, the user has to be asked; neither: it can not be had.
 */
export async function consentForRun(
  deps: ConsentDeps,
  asker: McpAsker,
  refusal: McpError,
): Promise<{ readonly isGranted: boolean; readonly isAsked: boolean }> {
  const { toolkit, principal, transact } = asker;
  const isGranted = await exchangeReturned(deps, asker).catch((error: unknown) => {
    // A code that is not taken: the user is asked anew.
    if (error instanceof McpOauthError && error.isRefusal) return false;
    throw error;
  });
  if (isGranted) {
    await transact((unit) => wakeConsenting(unit, toolkit.id, principal));
    return { isGranted, isAsked: false };
  }
  // Another call may have asked a moment ago: a second link would kill the first.
  const isUnderWay = (await transact((unit) => openConsentUrl(unit, toolkit.id, principal))) !== null;
  return { isGranted, isAsked: isUnderWay || (await consentNeeded(deps, asker, refusal, linkS)).isBegun };
}
