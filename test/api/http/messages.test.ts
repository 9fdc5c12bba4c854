import { expect, test } from '@jest/globals';
import { unknownPath } from '../../../api/http/unknown-path.ts';
import { validatorFor } from '../../../api/http/input/validator.ts';
import { ToolCreate } from '../../../api/tools/tool.schema.ts';
import { ToolkitCreate } from '../../../api/tools/toolkit.schema.ts';
import { fail, invalid } from '../../../workflows/contracts/failure.ts';

function refusalOf(schema: Parameters<typeof validatorFor>[0], body: unknown): string {
  return fail('validation_failed', { errors: validatorFor(schema, 'body').check(body, true) }).detail;
}

test('a refusal without words of its own says what to do', () => {
  expect(fail('unauthenticated').detail).toBe('Credential missing. Send a service key or an access token as Authorization: Bearer.');
  expect(fail('precondition_required').detail).toBe('Precondition required. Read the resource and send its ETag in If-Match.');
});

test('a request that breaks the schema is told where, what is allowed, and how much more there is', () => {
  expect(refusalOf(ToolCreate, {})).toBe('Validation failed: /slug is required; /kind is required; /description is required.');
  expect(refusalOf(ToolCreate, { slug: 't', description: 'd', kind: 'mcp' })).toBe(
    'Validation failed: /kind must be one of: http, builtin, code_exec, web_search, web_fetch, delegate, schedule.',
  );
  expect(refusalOf(ToolCreate, { a: 1, b: 1, c: 1 })).toMatch(/; and 3 more\.$/);
});

test('an object whose tag names no form of it is told the forms', () => {
  const auth = (type: unknown) => ({ slug: 'k', name: 'K', kind: 'openapi', config: { base_url: 'https://a.example', auth: { type } } });
  const told = /^Validation failed: \/config\/auth needs type, one of: none, bearer, basic, api_key, oauth2_client_credentials\.$/;

  expect(refusalOf(ToolkitCreate, auth('canary'))).toMatch(told);
  expect(refusalOf(ToolkitCreate, auth(undefined))).toMatch(told);
  expect(refusalOf(ToolkitCreate, auth('canary'))).not.toContain('canary');
});

test('a rule beyond the schema names its place, unless its message is a sentence', () => {
  expect(invalid('/config/base_url', 'required', 'is required').detail).toBe('Validation failed: /config/base_url is required.');
  expect(invalid('/config/secret', 'required', 'This provider requires a key.').detail).toBe('This provider requires a key.');
});

test('an unknown path that ends with a slash is told why', () => {
  expect(unknownPath('https://x.example', '/runs/').detail).toMatch(/^No operation has this path\. Paths do not end with a slash\. See /);
  expect(unknownPath('https://x.example', '/').detail).toMatch(/^No operation has this path\. See /);
});
