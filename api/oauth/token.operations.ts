import { truncateAddress } from '../../db/identity/people/addresses.ts';
import { endSession } from '../../domain/identity/sessions/sessions.ts';
import type { OauthSubject } from '../../domain/identity/callers/oauth-tokens.ts';
import { accessTokenLifeS } from '../../domain/identity/keys/signed-tokens.ts';
import { endReusedGrant, exchangeCode, refreshGrant, reuseOfCode, spoilUnproven, type Reuse } from '../../domain/oauth/grants.ts';
import { post, type Ctx } from '../http/operation/operation.ts';
import { attemptReference } from './token-reference.ts';
import { attemptToken, invalidGrant, type TokenAttempt } from './token-attempt.ts';
import { OauthIntrospectionView, OauthTokenForm, OauthTokenReference, OauthTokenView } from './token.schema.ts';

const byClients = { access: 'oauth-client', audit: 'none', form: true, faults: 'oauth', openWhenSuspended: true, success: [200] } as const;

export const tokenOperations = {
  issueOauthToken: post(
    '/oauth/token',
    {
      ...byClients,
      summary: 'Get tokens',
      description: 'Exchanges an authorization code with its verifier, a refresh token, or the credentials of a confidential client.',
      cors: 'any',
      body: OauthTokenForm,
      view: OauthTokenView,
      identify: attemptToken,
      example: {
        body: {
          grant_type: 'authorization_code',
          code: 'lh_ac_example',
          redirect_uri: 'https://app.example/callback',
          client_id: 'lh_oc_example',
        },
      },
    },
    async (ctx, { identified }) => issue(ctx, identified),
  ),

  revokeOauthToken: post(
    '/oauth/revoke',
    {
      ...byClients,
      summary: 'Revoke a token',
      description: "Ends the grant behind one of the client's own tokens. Any other token gets the same answer (RFC 7009).",
      cors: 'any',
      body: OauthTokenReference,
      example: { body: { token: 'lh_rt_example' } },
      identify: attemptReference,
    },
    async (ctx, { identified }) => {
      const { session } = identified;

      if (session) await endSession(ctx, { sessionId: session.id, reason: 'client_revoked' });
    },
  ),

  introspectOauthToken: post(
    '/oauth/introspect',
    {
      ...byClients,
      summary: 'Introspect a token',
      description:
        "Returns details of a confidential client's own active tokens; for all others, only that they are not active (RFC 7662).",
      transaction: 'none',
      body: OauthTokenReference,
      example: { body: { token: 'lh_rt_example' } },
      view: OauthIntrospectionView,
      identify: attemptReference,
    },
    async (_ctx, { identified }) => {
      const { client, introspection } = identified;

      return client.authMethod === 'none' ? { active: false } : introspection;
    },
  ),
};

async function issue(ctx: Ctx, attempt: TokenAttempt) {
  const { client, scopes } = attempt;

  switch (attempt.kind) {
    case 'code': {
      const opened = await exchange(ctx, attempt);
      return tokensOf(ctx, {
        ...opened,
        resource: attempt.code.resource,
        scopes,
        clientId: client.clientId,
        userId: attempt.code.person.id,
      });
    }
    case 'used_code':
      return endReused(ctx, attempt, { sessionId: attempt.code.sessionId, reason: 'code_reuse' });
    case 'unproven_code':
      return spoil(ctx, attempt);
    case 'refresh': {
      const rotated = await refresh(ctx, attempt);
      const { person, session } = attempt.grant;
      return tokensOf(ctx, { ...rotated, resource: session.resource ?? '', scopes, clientId: client.clientId, userId: person.id });
    }
    case 'client':
      return tokensOf(ctx, {
        resource: attempt.resource,
        scopes,
        clientId: client.clientId,
        generation: client.generation,
        refreshToken: null,
      });
    default:
      return attempt satisfies never;
  }
}

async function exchange(ctx: Ctx, attempt: Extract<TokenAttempt, { kind: 'code' }>) {
  const { client, code, hash, scopes } = attempt;
  const opened = await exchangeCode(ctx, {
    codeHash: hash,
    clientName: client.clientName,
    scope: scopes.join(' '),
    device: { userAgent: ctx.userAgent ?? '', networkAddress: truncateAddress(ctx.address) },
    idleDays: code.idleDays,
    absoluteDays: code.absoluteDays,
    hasRefresh: client.grantTypes.includes('refresh_token'),
  });

  return 'reason' in opened ? endReused(ctx, attempt, opened) : opened;
}

/**
 * Consumes a code that came without its proof (docs/security/consent.md): its sender did not request it, and gets no second try. If an exchange was faster,
 * this counts as a second use (RFC 6749 §4.1.2).
 */
async function spoil(ctx: Ctx, attempt: Extract<TokenAttempt, { kind: 'unproven_code' }>): Promise<never> {
  const { client, hash } = attempt;
  let isSpoiled = false;
  await ctx.commitNow(async (tx) => void (isSpoiled = await spoilUnproven(tx, hash)));

  ctx.log.warn({ client_id: client.clientId }, 'authorization code came without its proof');
  if (isSpoiled) throw invalidGrant();
  return endReused(ctx, attempt, await reuseOfCode(ctx, hash));
}

async function refresh(ctx: Ctx, attempt: Extract<TokenAttempt, { kind: 'refresh' }>) {
  const { client, grant, hash } = attempt;
  const rotated = await refreshGrant(ctx, { hash, clientId: client.clientId, sessionId: grant.session.id, idleDays: grant.idleDays });

  return 'reason' in rotated ? endReused(ctx, attempt, rotated) : rotated;
}

/** Refuses a used code or token. Ends a grant that may be in the wrong hands, and commits that although the reply is an error. */
async function endReused(ctx: Ctx, { client: { clientId } }: TokenAttempt, { sessionId, reason }: Reuse): Promise<never> {
  const { userId, organizationId, workspaceId } = ctx.caller;
  if (sessionId === null || userId === null) throw invalidGrant();

  const owner = { userId, organizationId, workspaceId };
  const request = { operationId: ctx.operationId, ip: ctx.address, userAgent: ctx.userAgent };
  const mailKeys = ctx.deps.env.mail === null ? null : ctx.deps.keys;
  await ctx.commitNow((tx) => endReusedGrant(tx, { sessionId, reason }, { clientId, owner, request, mailKeys }));
  throw invalidGrant();
}

async function tokensOf(ctx: Ctx, { refreshToken, ...subject }: OauthSubject & { readonly refreshToken: string | null }) {
  const { token } = await ctx.deps.identity.oauthTokens.issue(subject);

  return {
    access_token: token,
    token_type: 'Bearer' as const,
    expires_in: accessTokenLifeS,
    ...(refreshToken === null ? {} : { refresh_token: refreshToken }),
    scope: subject.scopes.join(' '),
  };
}
