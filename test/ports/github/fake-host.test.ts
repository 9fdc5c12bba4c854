import { createHmac } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { SignJWT, importPKCS8 } from 'jose';
import { createPrivateKey } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { redeliver } from '../../fakes/github/hooks.ts';
import { startGitHubHost, type GitHubHost } from '../../fakes/github/index.ts';
import { createScene, openPull, sendPullEvent, type Scene } from '../../fakes/github/scene.ts';
import type { FakePull } from '../../fakes/github/state.ts';

let host: GitHubHost;
let scene: Scene;
let pull: FakePull;
let token: string;

const at = () => Math.floor(Date.now() / 1_000);

async function jwt(times: { iat?: number; exp?: number } = {}): Promise<string> {
  const key = await importPKCS8(createPrivateKey(scene.app.privateKey).export({ type: 'pkcs8', format: 'pem' }).toString(), 'RS256');
  return new SignJWT({ iss: String(scene.app.id), iat: at() - 60, exp: at() + 500, ...times })
    .setProtectedHeader({ alg: 'RS256' })
    .sign(key);
}

async function call(
  method: string,
  path: string,
  { body, authorization = `Bearer ${token}` }: { body?: unknown; authorization?: string } = {},
) {
  const answer = await fetch(`${host.env['GITHUB_API_URL']}${path}`, {
    method,
    headers: { authorization, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  return { status: answer.status, headers: answer.headers, body: text === '' ? null : JSON.parse(text) };
}

async function mint(permissions: Record<string, string>): Promise<string> {
  const made = await call('POST', `/app/installations/${scene.installation.id}/access_tokens`, {
    body: { repository_ids: [scene.repository.id], permissions },
    authorization: `Bearer ${await jwt()}`,
  });
  return made.body.token;
}

beforeAll(async () => {
  host = await startGitHubHost();
  const text = Array.from({ length: 40 }, (_, line) => `line ${line}\n`).join('');
  scene = createScene(host, { files: { 'a.txt': text } });
  pull = openPull(scene.repository, {
    branch: 'topic',
    files: { 'a.txt': text.replace('line 3\n', 'changed\n').replace('line 30\n', '') },
  });
  token = await mint({ contents: 'read', pull_requests: 'write', issues: 'write', checks: 'write' });
});
afterAll(() => {
  expect(host.mistakes).toEqual([]);
  host.close();
});

const base = () => `/repos/octo/hello/pulls/${pull.number}`;
const comment = (line: number, more = {}) => ({ path: 'a.txt', line, side: 'RIGHT', body: 'x', ...more });
const review = (...comments: object[]) =>
  call('POST', `${base()}/reviews`, { body: { event: 'COMMENT', body: 'x', commit_id: pull.headSha, comments } });

test('the host refuses Apps whose JWT is expired, not yet valid, too long or signed by another', async () => {
  const statuses = [];
  for (const times of [{ exp: at() - 5 }, { iat: at() + 60 }, { exp: at() + 700 }])
    statuses.push((await call('GET', '/app', { authorization: `Bearer ${await jwt(times)}` })).status);
  statuses.push((await call('GET', '/app', { authorization: `Bearer ${(await jwt()).slice(0, -6)}AAAAAA` })).status);
  statuses.push((await call('GET', base(), { authorization: 'Bearer ghs_none' })).status);

  expect(statuses).toEqual([401, 401, 401, 401, 401]);
  expect((await call('GET', '/app', { authorization: `Bearer ${await jwt()}` })).status).toBe(200);
});

test('it refuses tokens without the permission, and pages, texts and annotations that are too long', async () => {
  const reader = `Bearer ${await mint({ pull_requests: 'read' })}`;
  const check = { name: 'c', head_sha: pull.headSha, output: { title: 't', summary: 's', annotations: [] as object[] } };
  const annotation = { path: 'a.txt', start_line: 1, end_line: 1, annotation_level: 'notice', message: 'm' };

  expect((await call('POST', `${base()}/comments`, { body: { body: 'x' }, authorization: reader })).status).toBe(422);
  expect((await call('POST', `/repos/octo/hello/check-runs`, { body: check, authorization: reader })).status).toBe(403);
  expect((await call('GET', `${base()}/files?per_page=101`)).status).toBe(422);
  expect((await call('POST', `/repos/octo/hello/issues/${pull.number}/comments`, { body: { body: 'x'.repeat(65_537) } })).status).toBe(422);
  check.output.annotations = Array.from({ length: 51 }, () => annotation);
  expect((await call('POST', `/repos/octo/hello/check-runs`, { body: check })).status).toBe(422);
});

test('it refuses a review without a body, and the whole of one with an anchor outside the hunks or from one into another', async () => {
  const bare = await call('POST', `${base()}/reviews`, { body: { event: 'COMMENT', comments: [comment(4)] } });
  const refused = [
    bare,
    await review(comment(4), comment(20)),
    await review(comment(30, { start_line: 4, start_side: 'RIGHT' })),
    await review(comment(3, { side: 'LEFT' })),
  ];
  const taken = await review(comment(4), comment(4, { side: 'LEFT' }), comment(31, { side: 'LEFT' }), comment(5, { start_line: 2 }));

  expect(refused.map(({ status }) => status)).toEqual([422, 422, 422, 422]);
  expect([taken.status, pull.comments.length]).toEqual([200, 4]);
});

test('it answers with ETags and rates, and 304 to what has not changed', async () => {
  const first = await call('GET', base());
  const again = await fetch(`${host.env['GITHUB_API_URL']}${base()}`, {
    headers: { 'authorization': `Bearer ${token}`, 'if-none-match': first.headers.get('etag')! },
  });

  expect(first.headers.get('x-ratelimit-remaining')).toBe('4990');
  expect(again.status).toBe(304);
});

test('it signs deliveries and sends the same bytes again under the same guid', async () => {
  const taken: { guid: string; body: string; isSigned: boolean }[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (part) => (body += String(part)));
    request.on('end', () => {
      const signature = `sha256=${createHmac('sha256', 'secret').update(body).digest('hex')}`;
      taken.push({
        guid: String(request.headers['x-github-delivery']),
        body,
        isSigned: request.headers['x-hub-signature-256'] === signature,
      });
      response.writeHead(taken.length === 1 ? 500 : 202).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo; // listening on TCP
  scene.app.hook = { url: `http://127.0.0.1:${port}/`, secret: 'secret' };

  const failed = await sendPullEvent(host, scene, { pull, action: 'opened' });
  await redeliver(host.state, scene.app, failed.id);
  const listed = await call('GET', '/app/hook/deliveries?per_page=10', { authorization: `Bearer ${await jwt()}` });
  server.close();
  scene.app.hook = null;

  expect(taken.map(({ isSigned }) => isSigned)).toEqual([true, true]);
  expect(taken[1]).toEqual(taken[0]);
  expect(listed.body.map(({ status_code: code, redelivery }: { status_code: number; redelivery: boolean }) => [code, redelivery])).toEqual([
    [202, true],
    [500, false],
  ]);
});
