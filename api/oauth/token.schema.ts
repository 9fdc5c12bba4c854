import Type, { type Static } from 'typebox';
import { closed, integer, oneOf, stating, text, Url } from '../http/input/schema.ts';

/** In a form, an empty value counts as none. */
const notEmpty = { minLength: 1 };

// The forms are open on purpose: unknown fields are ignored (RFC 6749 §3.2). An absent value is left out, never null.
const ClientFields = {
  client_id: Type.Optional(text(1_024, { description: 'If no Authorization header identifies the client' })),
  client_secret: Type.Optional(text(500, { description: 'client_secret_post' })),
};

export const OauthTokenForm = Type.Object(
  {
    grant_type: stating(text(100, { description: 'authorization_code, refresh_token or client_credentials' }), notEmpty),
    code: Type.Optional(text(200)),
    redirect_uri: Type.Optional(text(2_048, { description: 'The redirect_uri of the authorization request' })),
    code_verifier: Type.Optional(text(128, { minLength: 43, pattern: '^[A-Za-z0-9._~-]+$', description: 'RFC 7636 §4.1' })),
    refresh_token: Type.Optional(text(200)),
    scope: Type.Optional(text(1_000, { description: 'A subset of the granted scopes' })),
    resource: Type.Optional(text(2_048)),
    ...ClientFields,
  },
  { $id: 'OauthTokenForm', additionalProperties: true },
);
export type TokenForm = Static<typeof OauthTokenForm>;

export const OauthTokenReference = Type.Object(
  { token: stating(text(6_000), notEmpty), token_type_hint: Type.Optional(text(100, { description: 'Not needed' })), ...ClientFields },
  { $id: 'OauthTokenReference', additionalProperties: true },
);
export type TokenReference = Static<typeof OauthTokenReference>;

export const OauthTokenView = closed(
  {
    access_token: text(6_000),
    token_type: oneOf(['Bearer']),
    expires_in: integer({ description: 'Lifetime of the access token, in seconds from now' }),
    refresh_token: Type.Optional(text(100, { description: 'Valid for one refresh' })),
    scope: text(1_000),
  },
  { $id: 'OauthTokenView', description: 'RFC 6749 §5.1' },
);

export const OauthIntrospectionView = closed(
  {
    active: Type.Boolean(),
    scope: Type.Optional(text(1_000)),
    client_id: Type.Optional(text(1_024)),
    sub: Type.Optional(text(1_024)),
    iss: Type.Optional(Url),
    aud: Type.Optional(Url),
    iat: Type.Optional(integer({ description: 'Unix seconds' })),
    exp: Type.Optional(integer({ description: 'Unix seconds' })),
    token_type: Type.Optional(oneOf(['Bearer'])),
  },
  { $id: 'OauthIntrospectionView', description: 'RFC 7662 §2.2; contains only active if it is false' },
);
export type Introspection = Static<typeof OauthIntrospectionView>;
