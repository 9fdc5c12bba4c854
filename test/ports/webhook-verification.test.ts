import { createHmac, randomBytes } from 'node:crypto';
import { sign as signGithub } from '@octokit/webhooks-methods';
import { expect, test } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import Stripe from 'stripe';
import { Webhook as SvixWebhook } from 'svix';
import { signatureHeaders } from '../../ports/hooks/webhook-signature.ts';
import { isSameToken, isSignedBy, readSignature } from '../../ports/hooks/webhook-verification.ts';

const now = Date.UTC(2026, 10, 30, 9, 0, 0);
const secret = `whsec_${randomBytes(32).toString('base64')}`;
const other = `whsec_${randomBytes(32).toString('base64')}`;
const body = JSON.stringify({ id: 'evt_7', type: 'invoice.paid', note: 'Grüße – “fein”' });

type Headers = Record<string, string>;

/** Signs as the sender's own library does, at a time. */
type Sender = (payload: string, key: string, at: Date) => Headers | Promise<Headers>;

const seconds = (at: Date) => Math.floor(at.getTime() / 1_000);
const senders: readonly (readonly [name: string, sender: Sender, signsTime: boolean])[] = [
  [
    'standardwebhooks',
    (payload, key, at) => ({
      'webhook-id': 'msg_1',
      'webhook-timestamp': String(seconds(at)),
      'webhook-signature': new Webhook(key).sign('msg_1', at, payload),
    }),
    true,
  ],
  [
    'svix',
    (payload, key, at) => ({
      'svix-id': 'msg_1',
      'svix-timestamp': String(seconds(at)),
      'svix-signature': new SvixWebhook(key).sign('msg_1', at, payload),
    }),
    true,
  ],
  [
    'stripe',
    (payload, key, at) => ({
      'stripe-signature': Stripe.webhooks.generateTestHeaderString({ payload, secret: key, timestamp: seconds(at) }),
    }),
    true,
  ],
  [
    'slack',
    // By its document "Verifying requests from Slack"; its own library verifies only.
    (payload, key, at) => ({
      'x-slack-request-timestamp': String(seconds(at)),
      'x-slack-signature': `v0=${createHmac('sha256', key)
        .update(`v0:${seconds(at)}:${payload}`)
        .digest('hex')}`,
    }),
    true,
  ],
  ['github', async (payload, key) => ({ 'x-hub-signature-256': await signGithub(key, payload), 'x-github-delivery': 'd-1' }), false],
  ['bare', (payload, key) => ({ 'x-signature-256': createHmac('sha256', key).update(payload).digest('hex') }), false],
];

const isValid = (headers: Headers, payload: string, secrets: readonly string[] = [secret]) => {
  const claim = readSignature({ headers, body: Buffer.from(payload) });
  return claim !== null && isSignedBy(claim, secrets, now);
};

test.each(senders)(
  'what %s signs is taken by either live secret, and refused with one byte changed or by another secret',
  async (_, sign) => {
    const headers = await sign(body, secret, new Date(now));

    expect(isValid(headers, body)).toBe(true);
    expect(isValid(headers, body, [other, secret])).toBe(true);
    expect(isValid(headers, body, [other])).toBe(false);
    expect(isValid(headers, body, [])).toBe(false);
    expect(isValid(headers, body.replace('paid', 'paie'))).toBe(false);
    expect(isValid(headers, `${body} `)).toBe(false);
  },
);

test.each(senders.filter(([, , signsTime]) => signsTime))(
  '%s: 299 s either way are taken; 301 s, a time of 2001 and no time are not',
  async (_, sign) => {
    const at = (shiftS: number) => sign(body, secret, new Date(now + shiftS * 1_000));

    expect([isValid(await at(-299), body), isValid(await at(299), body)]).toEqual([true, true]);
    expect([isValid(await at(-301), body), isValid(await at(301), body)]).toEqual([false, false]);
    expect(isValid(await sign(body, secret, new Date('2001-09-09T01:46:40Z')), body)).toBe(false);
    const signed = await at(0);
    const without = Object.fromEntries(
      Object.entries(signed).map(([name, value]) => [name, name.endsWith('timestamp') ? 'soon' : value.replace(/^t=\d+/, 't=')]),
    );
    expect(isValid(without, body)).toBe(false);
  },
);

test('the published example of Slack is taken at its time', () => {
  const payload =
    'token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c';
  const headers = {
    'x-slack-request-timestamp': '1531420618',
    'x-slack-signature': 'v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503',
  };
  const claim = readSignature({ headers, body: Buffer.from(payload) });

  expect(claim && isSignedBy(claim, ['8f742231b10e8888abcd99yyyzzz85a5'], 1_531_420_618_000)).toBe(true);
  expect(claim && isSignedBy(claim, ['8f742231b10e8888abcd99yyyzzz85a5'], now)).toBe(false);
});

test('v1a alone is no signature; beside a v1 it is passed over', () => {
  const [id, at] = ['msg_1', new Date(now)];
  const v1 = new Webhook(secret).sign(id, at, body);
  const headers = (signature: string) => ({ 'webhook-id': id, 'webhook-timestamp': String(seconds(at)), 'webhook-signature': signature });

  expect(isValid(headers(v1.replace('v1,', 'v1a,')), body)).toBe(false);
  expect(isValid(headers(`v1a,${randomBytes(64).toString('base64')} v1,AAAA ${v1}`), body)).toBe(true);
});

test('the first form that is there decides, and what we sign ourselves is taken with both secrets', async () => {
  const own = signatureHeaders([other, secret], { id: 'msg_2', timestampS: seconds(new Date(now)), body });
  const github = await signGithub(secret, body);

  expect(isValid(own, body)).toBe(true);
  expect(isValid({ ...own, 'x-hub-signature-256': 'sha256=00' }, body)).toBe(true);
  expect(isValid({ 'stripe-signature': 't=1,v1=00', 'x-hub-signature-256': github }, body)).toBe(false);
  expect(readSignature({ headers: {}, body: Buffer.from(body) })).toBeNull();
});

test.each([
  ['a signature of no length', { 'x-signature-256': '' }],
  ['hex of another length', { 'x-signature-256': 'ab'.repeat(31) }],
  ['what is no hex', { 'x-hub-signature-256': `sha256=${'z'.repeat(64)}` }],
  ['no prefix', { 'x-slack-signature': 'ab'.repeat(32), 'x-slack-request-timestamp': String(seconds(new Date(now))) }],
  ['no id', { 'webhook-timestamp': String(seconds(new Date(now))), 'webhook-signature': 'v1,AAAA' }],
  ['nothing of Stripe', { 'stripe-signature': '=,v1,t' }],
])('%s is refused and throws nothing', (_, headers) => {
  expect(isValid(headers as Headers, body)).toBe(false);
});

test('a secret without prefix counts as its bytes in every form, whsec_ means base64 in the first two alone', async () => {
  const plain = 'a plain shared secret';
  const standard = signatureHeaders([plain], { id: 'm', timestampS: seconds(new Date(now)), body });

  expect(isValid(standard, body, [plain])).toBe(true);
  expect(isValid({ 'x-hub-signature-256': await signGithub(secret, body) }, body, [secret])).toBe(true);
});

test('the id of a delivery is what its sender calls it', async () => {
  const idOf = async (index: number) =>
    readSignature({ headers: (await senders[index]?.[1](body, secret, new Date(now))) ?? {}, body: Buffer.from(body) });

  const claims = await Promise.all(senders.map((_, index) => idOf(index)));

  expect(claims.map((claim) => [claim?.deliveryId, claim?.isIdSigned])).toEqual([
    ['msg_1', true],
    ['msg_1', true],
    ['evt_7', true],
    [null, false],
    ['d-1', false],
    [null, false],
  ]);
});

test('tokens are compared whole', () => {
  expect([isSameToken('abc', 'abc'), isSameToken('abc', 'abd'), isSameToken('', 'abc'), isSameToken('abcd', 'abc')]).toEqual([
    true,
    false,
    false,
    false,
  ]);
});
