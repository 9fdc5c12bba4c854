import { createHash } from 'node:crypto';
import Type from 'typebox';
import { fail } from '../../workflows/contracts/failure.ts';
import { documentCaching } from '../http/openapi/documents.ts';
import { get, reply } from '../http/operation/operation.ts';
import { closed } from '../http/input/schema.ts';
import {
  JsonWebKeySet,
  OauthResourceMetadata,
  OauthServerMetadata,
  toJsonWebKeySet,
  toResourceMetadata,
  toServerMetadata,
} from './discovery.schema.ts';

// URLs in these documents come from the configuration, never from the Host header.
const publicly = { access: 'none', transaction: 'none', cors: 'any' } as const;

export const discoveryOperations = {
  getOauthServerMetadata: get(
    '/.well-known/oauth-authorization-server',
    {
      ...publicly,
      summary: 'Read the metadata of the authorization server',
      description: 'Endpoints, grants, methods and scopes of the OAuth 2.1 server (RFC 8414).',
      view: OauthServerMetadata,
    },
    async (ctx) => published(toServerMetadata(ctx.deps.env)),
  ),

  getOauthResourceMetadata: get(
    '/.well-known/oauth-protected-resource',
    {
      ...publicly,
      summary: 'Read the metadata of the API as a protected resource',
      description: 'Returns who issues tokens for the API, and with which scopes (RFC 9728).',
      view: OauthResourceMetadata,
    },
    async (ctx) => published(toResourceMetadata(ctx.deps.env.publicUrl, 'api')),
  ),

  getOauthResourceMetadataFor: get(
    '/.well-known/oauth-protected-resource/{resource_path}',
    {
      ...publicly,
      summary: 'Read the metadata of another protected resource',
      description: 'Returns the same for the MCP endpoint, by its path; any other path is unknown.',
      params: closed({ resource_path: Type.String({ minLength: 1, maxLength: 1_024, description: 'Path of the resource: mcp' }) }),
      view: OauthResourceMetadata,
    },
    async (ctx, { params }) => {
      if (params.resource_path !== 'mcp') throw fail('not_found');
      return published(toResourceMetadata(ctx.deps.env.publicUrl, 'mcp'));
    },
  ),

  getOauthKeys: get(
    '/oauth/jwks',
    {
      ...publicly,
      summary: 'Read the public keys that sign tokens',
      description: 'Returns the current key, its successor, and keys retired within the last hour (RFC 7517).',
      view: JsonWebKeySet,
    },
    async (ctx) => published(toJsonWebKeySet(await ctx.deps.identity.signingKeys.published())),
  ),
};

/** A document that can be cached for a while and revalidated by its ETag. */
function published<View>(view: View) {
  const hash = createHash('sha256').update(JSON.stringify(view)).digest('base64url').slice(0, 22);
  return reply(view, { headers: { 'cache-control': documentCaching, 'etag': `"${hash}"` } });
}
