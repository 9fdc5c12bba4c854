import { openConsentUrl } from '../../db/mcp/consent-of-call.ts';
import { wakeConsenting } from '../../domain/mcp/consents.ts';
import { McpOauthError } from '../../ports/mcp/oauth.ts';
import { McpError } from '../../ports/mcp/errors.ts';
import { consentNeeded, exchangeReturned, type ConsentDeps } from './consent.ts';
import { asNobody, type McpAsk, type McpDeps } from './use-mcp.ts';

/** A run may wait for its user for so long. */
const linkS = 86_400;

/**
 * A server wants the consent of the user for whom a run works. `isGranted`: the consent has come back and is good, the call can be made. `isAsked`: one is
 * under way, the user has to be asked; neither: it can not be had.
 */
export async function consentForRun(
  deps: ConsentDeps & McpDeps,
  ask: McpAsk,
  refusal: McpError,
): Promise<{ readonly isGranted: boolean; readonly isAsked: boolean }> {
  const { toolkit, principal, transact } = ask;
  const isGranted = await exchangeReturned(deps, ask).catch((error: unknown) => {
    // A code that is not taken: the user is asked anew.
    if (error instanceof McpOauthError && error.isRefusal) return false;
    throw error;
  });
  if (isGranted) {
    await transact((tx) => wakeConsenting(tx, toolkit.id, principal));
    return { isGranted, isAsked: false };
  }
  // Another call may have asked a moment ago: a second link would kill the first.
  const isUnderWay = (await transact((tx) => openConsentUrl(tx, toolkit.id, principal))) !== null;
  if (isUnderWay) return { isGranted, isAsked: true };
  return { isGranted, isAsked: (await consentNeeded(deps, ask, await challenged(deps, ask, refusal), linkS)).isBegun };
}

/** Without a grant nobody was asked yet: the server's own refusal says where consent is to be had. Nothing is called for that. */
async function challenged(parts: McpDeps, ask: McpAsk, refusal: McpError): Promise<McpError> {
  if (refusal.challenge !== null) return refusal;
  try {
    await asNobody(parts, ask, (session, patience) => session.listTools(patience));
    return refusal;
  } catch (error) {
    if (error instanceof McpError && error.kind === 'unauthorized') return error;
    throw error;
  }
}
