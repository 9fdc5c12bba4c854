import type { Static } from 'typebox';
import { findClient } from '../../db/identity/lookup/oauth-lookup.ts';
import { withAnswer } from '../../domain/oauth/redirect-uri.ts';
import { lockUndecided, recordRequest, settleTransaction } from '../../domain/oauth/authorization.ts';
import { fail, invalid } from '../../workflows/contracts/failure.ts';
import { OauthFailure } from '../http/credentials/oauth-failure.ts';
import { get, post, reply, seeOther, type Ctx } from '../http/operation/operation.ts';
import { plainText } from '../http/input/schema.ts';
import { pageType } from '../http/openapi/web-page.ts';
import { attemptAuthorization, type AuthorizationAttempt } from './authorize-request.ts';
import {
  AuthorizationDecisionBody,
  AuthorizationDecisionView,
  AuthorizationTransactionView,
  AuthorizeQuery,
  toTransactionView,
} from './authorize.schema.ts';
import { consentPage, problemPage } from './consent-page.ts';

export const authorizeOperations = {
  startAuthorization: get(
    '/oauth/authorize',
    {
      summary: 'Ask a user for access',
      description:
        'Checks a client’s request and opens a transaction for the user to decide. A browser gets a page to sign in and consent, or is redirected to that of the deployment; if it cannot be redirected, it gets a page that says what is wrong.',
      access: 'none',
      fails: ['oauth_request_invalid'],
      query: AuthorizeQuery,
      faults: 'own',
      transaction: 'writes',
      view: AuthorizationTransactionView,
      alsoProduces: { 'text/html': plainText('The page on which the user signs in and decides') },
      failurePage: problemPage,
      success: [200, 303],
      identify: attemptAuthorization,
    },
    async (ctx, { query, identified }) => start(ctx, query, identified),
  ),

  decideAuthorization: post(
    '/oauth/authorize',
    {
      summary: 'Decide on a request for access',
      description:
        'The signed-in user approves all or some of the scopes, or denies the request. Each transaction accepts one decision; the reply says where to send the browser.',
      access: 'viewer',
      fails: ['oauth_request_invalid', 'not_found', 'state_conflict', 'gone'],
      audit: 'approve',
      resourceType: 'oauth_client',
      sessionOnly: true,
      openWhenSuspended: true,
      success: [200],
      body: AuthorizationDecisionBody,
      example: { body: { transaction_id: 'lh_tx_example', decision: 'approve', scopes: ['runs:read'] } },
      view: AuthorizationDecisionView,
    },
    async (ctx, { body }) => decide(ctx, body),
  ),
};

async function start(ctx: Ctx, query: Static<typeof AuthorizeQuery>, attempt: AuthorizationAttempt) {
  if (attempt.kind === 'refused') return seeOther(attempt.redirectTo);
  const { client, request, isBrowser } = attempt;
  const opened = await recordRequest(ctx, { clientId: client.clientId, request });

  if (!isBrowser) return toTransactionView(client, request, opened);
  const consentUrl = consentUrlOf(ctx.deps);

  // The URL repeats the request, so that the page can ask this endpoint for its details.
  if (consentUrl !== null) return seeOther(withAnswer(consentUrl, { ...query, transaction_id: opened.transactionId }));
  const view = toTransactionView(client, request, opened);
  const page = consentPage(view);
  return reply(view, { headers: page.headers, text: { contentType: pageType, body: page.html } });
}

/** Where people decide. Null: on the API's own page, also while the console, whose page it would be, is not built or not served. */
function consentUrlOf({ env, hasConsole }: Pick<Ctx['deps'], 'env' | 'hasConsole'>): string | null {
  const { consentUrl } = env.oauth;
  const isOfConsole = consentUrl?.startsWith(`${env.publicUrl}/console/`) ?? false;
  return isOfConsole && !hasConsole() ? null : consentUrl;
}

async function decide(ctx: Ctx, body: Static<typeof AuthorizationDecisionBody>) {
  const { userId } = ctx.caller;
  if (userId === null) throw fail('not_found');
  const { request, clientId } = await lockUndecided(ctx, body.transaction_id);
  const scopes = body.decision === 'approve' ? chosen(request.scope.split(' '), body.scopes) : [];
  const client = await findClient(ctx.deps.db, clientId);

  if (!client || client.isDeleted)
    throw new OauthFailure('oauth_request_invalid', 'invalid_client', { detail: 'The client no longer exists.' });
  // The grant belongs to the person's own organization. Only operators have a view, and they belong to no organization.
  const who = { userId, organizationId: ctx.caller.view ? null : ctx.caller.organizationId };

  const granted = body.decision === 'deny' ? null : { ...request, clientId, scope: scopes.join(' ') };
  const code = await settleTransaction(ctx, body.transaction_id, { who, sessionId: ctx.caller.sessionId, granted });
  ctx.audit({
    resourceType: 'oauth_client',
    resourceId: client.id,
    label: client.clientName,
    changes: { decision: { to: body.decision }, scopes: { to: scopes }, resource: { to: request.resource } },
  });
  const answer: Record<string, string> =
    code === null ? { error: 'access_denied', error_description: 'The user has denied the request.' } : { code };
  return { redirect_to: withAnswer(request.redirectUri, { ...answer, state: request.state, iss: ctx.deps.env.publicUrl }) };
}

function chosen(asked: readonly string[], wanted: readonly string[] | undefined): readonly string[] {
  const foreign = wanted?.findIndex((name) => !asked.includes(name)) ?? -1;

  if (foreign >= 0) throw invalid(`/scopes/${foreign}`, 'range', 'is not a scope that the client requested');
  return wanted ?? asked;
}
