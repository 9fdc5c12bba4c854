import Type from 'typebox';
import { httpMethods } from '../../db/tools/tool-config.ts';
import { closed, integer, listOf, nullable, oneOf, text } from '../http/input/schema.ts';

/** Name of a secret; a config never contains its value. */
export const SecretName = text(100, { minLength: 1, pattern: '^[A-Za-z][A-Za-z0-9_.-]{0,99}$', description: 'Name of a secret' });

const HeaderName = text(100, { minLength: 1, pattern: "^[A-Za-z0-9!#$%&'*+.^_`|~-]+$" });

/** Names mapped to Liquid templates; at most 50. */
const Templates = (names: string) =>
  Type.Unsafe<Record<string, string>>({
    type: 'object',
    maxProperties: 50,
    propertyNames: { type: 'string', maxLength: 100, pattern: names },
    additionalProperties: { type: 'string', maxLength: 4_096 },
  });

const authForms = {
  none: closed({ type: oneOf(['none']) }, { $id: 'HttpAuthNone' }),
  bearer: closed({ type: oneOf(['bearer']), secret: SecretName }, { $id: 'HttpAuthBearer' }),
  basic: closed({ type: oneOf(['basic']), user: text(200, { pattern: '^[^:]*$' }), secret: SecretName }, { $id: 'HttpAuthBasic' }),
  api_key: closed(
    {
      type: oneOf(['api_key']),
      in: oneOf(['header', 'query']),
      name: text(100, { minLength: 1, pattern: "^[A-Za-z0-9!#$%&'*+.^_`|~-]+$" }),
      secret: SecretName,
    },
    { $id: 'HttpAuthApiKey' },
  ),
  oauth2_client_credentials: closed(
    {
      type: oneOf(['oauth2_client_credentials']),
      token_url: text(2_048, { minLength: 1 }),
      client_id: text(400, { minLength: 1 }),
      secret: SecretName,
      scope: Type.Optional(nullable(text(1_000))),
    },
    { $id: 'HttpAuthClientCredentials' },
  ),
};

/** One of the forms, discriminated by `type`, so that a violation names the form that was meant. */
export const HttpAuth = Type.Unsafe<Type.Static<(typeof authForms)[keyof typeof authForms]>>({
  type: 'object',
  description: 'How the request authenticates; secret is the name of a secret',
  discriminator: { propertyName: 'type' },
  oneOf: Object.values(authForms),
});

export const HttpToolConfig = closed(
  {
    method: oneOf(httpMethods),
    url: text(2_048, { minLength: 1, description: 'Literal origin; the path is a Liquid template whose values are percent-encoded' }),
    query: Type.Optional(Templates('^[^&=#]+$')),
    headers: Type.Optional(Templates("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")),
    body: Type.Optional(
      closed({
        mode: Type.Optional(oneOf(['none', 'json', 'form', 'raw'], { default: 'none' })),
        template: Type.Optional(
          Type.Unsafe<unknown>({
            description:
              'JSON whose texts are Liquid templates, an object of templates for form, one template for raw; null sends the arguments',
          }),
        ),
      }),
    ),
    auth: Type.Optional(HttpAuth),
    response: Type.Optional(
      closed({
        pointer: Type.Optional(
          nullable(text(400, { pattern: '^(?:/(?:[^~]|~[01])*)?$', description: 'JSON pointer to the result within a JSON reply' })),
        ),
        success: Type.Optional(
          listOf(integer({ minimum: 100, maximum: 599 }), {
            maxItems: 20,
            description: 'Statuses that count as success; empty means any 2xx',
          }),
        ),
      }),
    ),
    idempotency_header: Type.Optional(nullable(HeaderName)),
    redirects: Type.Optional(integer({ minimum: 0, maximum: 3, default: 0 })),
  },
  { $id: 'HttpToolConfig', description: 'One HTTP request; templates read args' },
);
