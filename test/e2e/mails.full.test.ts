import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startStack, type Stack } from '../support/stack.ts';
import { until } from '../support/temporal.ts';

const folder = mkdtempSync(join(tmpdir(), 'longhaul-mails-'));
let stack: Stack;

beforeAll(async () => {
  stack = await startStack({ processes: ['api', 'worker-runs'], env: { MAIL_DIR: folder } });
});
afterAll(async () => {
  await stack?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const mails = () =>
  readdirSync(folder)
    .filter((file) => file.endsWith('.eml'))
    .map((file) => readFileSync(join(folder, file), 'utf8'));
/** The newest mail to an address, once there are that many. */
async function mailTo(address: string, count = 1): Promise<string> {
  const found = () => mails().filter((mail) => mail.includes(`\nTo: ${address}\n`));
  await until(() => found().length >= count);
  return found().at(-1) ?? '';
}
const post = async (path: string, body: unknown, credential?: string) => {
  const answer = await fetch(stack.url() + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(credential ? { authorization: `Bearer ${credential}` } : {}) },
    body: JSON.stringify(body),
  });
  return { status: answer.status, text: await answer.text() };
};
/** Sends the request of a mail as it stands there, with the reader's own words in the place of its hints. */
async function sendAsTold(mail: string, words: Readonly<Record<string, string>>) {
  const [, path = '', body = '{}'] = /\n {2}POST http:\/\/[^/]+(\S+)\n.*?(\n {2}\{.*?\n {2}\})/s.exec(mail) ?? [];
  return post(path, { ...(JSON.parse(body) as object), ...words });
}

test('a forgotten password comes back by mail: the request in it, as it stands there, sets a new one, once', async () => {
  const { email } = stack.tenant.users.member;
  const password = 'an entirely new and long phrase';

  expect((await post('/auth/password/forgot', { email: ` ${email.toUpperCase()}` })).status).toBe(202);
  const mail = await mailTo(email);

  expect((await sendAsTold(mail, { new_password: password })).status).toBe(204);
  expect((await sendAsTold(mail, { new_password: password })).status).toBe(410);
  expect((await post('/auth/login', { email, password })).status).toBe(200);
});

test('an invitation comes by mail, its request makes the user, and the invitation says that it was sent', async () => {
  const email = 'new-colleague@example.test';
  const { token } = stack.tenant.organizationAdmin;
  const { status, text } = await post('/invitations', { email, role: 'member', scope: 'organization' }, token);
  expect(status).toBe(201);
  const { id } = JSON.parse(text) as { id: string };

  const mail = await mailTo(email);

  await until(async () => (await stack.request('GET', `/invitations/${id}`, { credential: token })).body['sent_at'] !== null);
  const accepted = await sendAsTold(mail, { password: 'an entirely new and long phrase' });
  expect(accepted.status).toBe(200);
  expect(JSON.parse(accepted.text)).toMatchObject({ user: { email } });
});

test('an address of nobody gets the same answer and no mail', async () => {
  const before = mails().length;

  expect((await post('/auth/password/forgot', { email: 'nobody@example.test' })).status).toBe(202);
  expect((await post('/auth/password/forgot', { email: stack.tenant.users.viewer.email })).status).toBe(202);
  await mailTo(stack.tenant.users.viewer.email);

  expect(mails()).toHaveLength(before + 1);
});
