import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { faultOfRedirectUri, isRegisteredRedirect, withAnswer } from '../../../domain/oauth/redirect-uri.ts';
import { authorizePath, openOauth, type OauthWorld } from './client.ts';

let world: OauthWorld;

beforeAll(async () => {
  world = await openOauth({ env: { OAUTH_DYNAMIC_REGISTRATION: 'true' } });
});

afterAll(() => world.close());

const host = fc.oneof(
  fc.domain(),
  fc.constantFrom('localhost', '127.0.0.1', '[::1]', '127.0.0.9', '10.0.0.1', 'LOCALHOST', 'xn--bcher-kva.test', 'bücher.test', '0x7f.1'),
);
const scheme = fc.constantFrom('https', 'http', 'com.example.app', 'app', 'javascript', 'data', 'HTTPS', 'file', 'com.example:x');
const port = fc.oneof(
  fc.constant(''),
  fc.integer({ min: 0, max: 70_000 }).map((value) => `:${value}`),
);
const path = fc.oneof(fc.webPath(), fc.constantFrom('', '/', '/cb', '/cb/', '/%2e%2e/x', '/a/../b', '/a\\b', '/a b', '//evil.test', '/é'));
const query = fc.oneof(
  fc.constant(''),
  fc.webQueryParameters().map((text) => `?${text}`),
  fc.constantFrom('?', '?a=b&', '?code=x#y'),
);
const separator = fc.constantFrom('://', ':/', ':', '://user@', '://u:p@', ':\\\\');
const redirect = fc.tuple(scheme, separator, host, port, path, query).map((parts) => parts.join(''));

test('whatever register accepts, authorize accepts; what it refuses, no client has', async () => {
  let accepted = 0;
  await fc.assert(
    fc.asyncProperty(fc.oneof(redirect, fc.webUrl(), fc.string()), async (uri) => {
      const made = await world.json(null, '/oauth/register', { redirect_uris: [uri] });
      const isFine = faultOfRedirectUri(uri) === null;

      expect(made.status).toBe(isFine ? 201 : made.body.error === 'invalid_redirect_uri' ? 400 : 422);
      if (!isFine) return;
      accepted += 1;
      const started = await world.get(authorizePath({ clientId: made.body.client_id, secret: null, redirectUri: uri }));
      expect(started.status).toBe(200);
    }),
    { numRuns: 300, seed: 20_261 },
  );
  expect(accepted).toBeGreaterThan(30);
});

test('a host with a wildcard is refused, since it could never match', () => {
  expect(faultOfRedirectUri('https://*.app.example/callback')).not.toBeNull();
});

test('a redirect that differs in one character is no registered one', () => {
  fc.assert(
    fc.property(
      redirect,
      fc.nat(),
      fc.constantFrom('a', '/', '.', '?', 'Z', '%', '@', '#', ' '),
      fc.constantFrom('insert', 'replace', 'remove'),
      (uri, at, character, how) => {
        fc.pre(faultOfRedirectUri(uri) === null);
        const place = at % (uri.length + 1);
        const other = uri.slice(0, place) + (how === 'remove' ? '' : character) + uri.slice(how === 'insert' ? place : place + 1);
        fc.pre(other !== uri && !/^http:\/\/(localhost|127\.|\[::1\])/i.test(uri));

        expect(isRegisteredRedirect(other, [uri])).toBe(false);
      },
    ),
    { numRuns: 2_000, seed: 20_262 },
  );
});

test('no redirect that is accepted leads a browser elsewhere than it says, or runs a script', () => {
  fc.assert(
    fc.property(fc.oneof(redirect, fc.webUrl(), fc.string()), (uri) => {
      fc.pre(faultOfRedirectUri(uri) === null);
      const url = new URL(uri);

      expect(['javascript:', 'data:', 'file:', 'blob:', 'vbscript:']).not.toContain(url.protocol);
      expect([url.username, url.password, url.hash]).toEqual(['', '', '']);
      if (url.protocol === 'http:') expect(url.hostname).toMatch(/^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/);
    }),
    { numRuns: 3_000, seed: 20_263 },
  );
});

test('the answer joins what a redirect holds already, and can be read back', () => {
  fc.assert(
    fc.property(redirect, fc.string({ maxLength: 50 }), (uri, state) => {
      fc.pre(faultOfRedirectUri(uri) === null && !state.includes('\ud800') && state.isWellFormed());
      const sent = withAnswer(uri, { code: 'lh_ac_x', state, iss: 'https://a.test', error: null });

      expect(sent.startsWith(uri)).toBe(true);
      const { searchParams } = new URL(sent);
      expect([
        searchParams.getAll('code').at(-1),
        searchParams.getAll('state').at(-1),
        searchParams.has('error') && !uri.includes('error'),
      ]).toEqual(['lh_ac_x', state, false]);
    }),
    { numRuns: 1_000, seed: 20_264 },
  );
});
