import { openConsentUrl } from '../../db/mcp/consent-of-call.ts';
import { wakeConsenting } from '../../domain/mcp/consents.ts';
import { McpOauthError } from '../../ports/mcp/oauth.ts';
import { McpError } from '../../ports/mcp/errors.ts';
import { consentNeeded, exchangeReturned, type ConsentDeps } from './consent.ts';
import { asNobody, type McpAsk, type McpDeps } from './use-mcp.ts';

/** How long a run may wait for its user. */
const linkS = 86_400;

/**
 * Handles a server that requires the consent of the user for whom a run works. `isGranted`: a valid consent has come back, the call can be made. `isAsked`: a
 * consent is under way, the user has to be asked; neither: no consent is possible.
 */
export async function consentForRun(
  deps: ConsentDeps & McpDeps,
  ask: McpAsk,
  refusal: McpError,
): Promise<{ readonly isGranted: boolean; readonly isAsked: boolean }> {
  const { toolkit, principal, transact } = ask;
  const isGranted = await exchangeReturned(deps, ask).catch((error: unknown) => {
    // The code is refused: the user is asked again.
    if (error instanceof McpOauthError && error.isRefusal) return false;
    throw error;
  });
  if (isGranted) {
    await transact((tx) => wakeConsenting(tx, toolkit.id, principal));
    return { isGranted, isAsked: false };
  }
  // Another call may have asked a moment ago: a second link would invalidate the first.
  const isUnderWay = (await transact((tx) => openConsentUrl(tx, toolkit.id, principal))) !== null;
  if (isUnderWay) return { isGranted, isAsked: true };
  return { isGranted, isAsked: (await consentNeeded(deps, ask, await challenged(deps, ask, refusal), linkS)).isBegun };
}

/** Without a grant the server has not been called yet: its own refusal says where to get consent. No tool is called for that. */
async function challenged(deps: McpDeps, ask: McpAsk, refusal: McpError): Promise<McpError> {
  if (refusal.challenge !== null) return refusal;
  try {
    await asNobody(deps, ask, (mcpSession, patience) => mcpSession.listTools(patience));
    return refusal;
  } catch (error) {
    if (error instanceof McpError && error.kind === 'unauthorized') return error;
    throw error;
  }
}
