import { expect, test } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { verifyWebhook, WebhookVerificationError } from '../../../clients/typescript/src/index.ts';

const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const other = `whsec_${Buffer.from('another secret of 24 b!!').toString('base64')}`;

interface Signed {
  readonly body: string;
  readonly headers: Record<string, string>;
}

function signed(value: unknown, { at = new Date(), by = secret }: { at?: Date; by?: string } = {}): Signed {
  const body = JSON.stringify(value);
  const id = `msg_${crypto.randomUUID()}`;
  const timestamp = String(Math.floor(at.getTime() / 1_000));
  return { body, headers: { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': new Webhook(by).sign(id, at, body) } };
}

const bytesOf = (text: string) => new TextEncoder().encode(text);
const minute = 60_000;

test.each([
  ['plain', { type: 'run.finished', data: { run_id: 'r' } }],
  ['multi-byte', { text: 'Grüße, 日本語, 🌻' }],
])('a request signed by the package standardwebhooks is verified: %s', async (_name, value) => {
  const { body, headers } = signed(value);

  await expect(verifyWebhook(bytesOf(body), headers, secret)).resolves.toEqual(value);
  await expect(verifyWebhook(bytesOf(body).buffer, new Headers(headers), [other, secret])).resolves.toEqual(value);
});

// Recorded from standardwebhooks 1.1.1: new Webhook(secret).sign(id, new Date(seconds * 1000), body).
const recorded = [
  ['msg_p5jXN8AQM9LWM0D4loKWxJek', 1_614_265_330, '{"test": 2432232314}', 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE='],
  ['msg_multi_byte', 1_700_000_000, '{"text":"Grüße, 日本語, 🌻"}', 'v1,um1+Ia+Y/Y/6hAQn6oTxm6cb/vStPkqPHErqBqnXaHQ='],
] as const;

test.each(recorded)('the recorded vector %s is verified at its time', async (id, seconds, body, signature) => {
  const headers = { 'webhook-id': id, 'webhook-timestamp': String(seconds), 'webhook-signature': signature };
  const now = Date.now;
  Date.now = () => seconds * 1_000;
  try {
    await expect(verifyWebhook(bytesOf(body), headers, secret)).resolves.toEqual(JSON.parse(body));
  } finally {
    Date.now = now;
  }
});

test('any live secret and any v1 of the header is enough', async () => {
  const { body, headers } = signed({ a: 1 });
  const several = { ...headers, 'webhook-signature': `v1a,xyz v1,AAAA v1,!!! ${headers['webhook-signature']}` };

  await expect(verifyWebhook(bytesOf(body), several, [other, secret])).resolves.toEqual({ a: 1 });
});

const faults: Record<string, (sent: Signed) => Parameters<typeof verifyWebhook>> = {
  'truncated': ({ body, headers }) => [bytesOf(body).slice(0, -1), headers, secret],
  'cut in a character': ({ headers }) => [bytesOf('"ü').slice(0, -1), headers, secret],
  'altered': ({ body, headers }) => [bytesOf(body.replace('1', '2')), headers, secret],
  'of another sender': ({ body, headers }) => [bytesOf(body), headers, other],
  'with another id': ({ body, headers }) => [bytesOf(body), { ...headers, 'webhook-id': 'msg_other' }, secret],
  'without a signature': ({ body, headers }) => [bytesOf(body), { ...headers, 'webhook-signature': '' }, secret],
  'of another version': ({ body, headers }) => [
    bytesOf(body),
    { ...headers, 'webhook-signature': headers['webhook-signature']?.replace('v1,', 'v2,') },
    secret,
  ],
  'without secrets': ({ body, headers }) => [bytesOf(body), headers, []],
  'with a secret that is none': ({ body, headers }) => [bytesOf(body), headers, 'whsec_%%%'],
  'with an empty secret': ({ body, headers }) => [bytesOf(body), headers, 'whsec_'],
  'with a time that is none': ({ body, headers }) => [bytesOf(body), { ...headers, 'webhook-timestamp': '1e9' }, secret],
};

test.each(Object.entries(faults))('a request that is %s gives the one error', async (_name, fault) => {
  await expect(verifyWebhook(...fault(signed({ a: 1 })))).rejects.toThrow(WebhookVerificationError);
});

test.each([
  ['too old', -5 * minute - 2_000],
  ['ahead of time', 5 * minute + 2_000],
])('a request that is %s gives the one error', async (_name, byMs) => {
  const { body, headers } = signed({ a: 1 }, { at: new Date(Date.now() + byMs) });

  await expect(verifyWebhook(bytesOf(body), headers, secret)).rejects.toThrow(WebhookVerificationError);
});

test('signed bytes that are no JSON give the one error', async () => {
  const at = new Date();
  const headers = {
    'webhook-id': 'm',
    'webhook-timestamp': String(Math.floor(at.getTime() / 1_000)),
    'webhook-signature': new Webhook(secret).sign('m', at, 'no JSON'),
  };

  await expect(verifyWebhook(bytesOf('no JSON'), headers, secret)).rejects.toThrow(WebhookVerificationError);
});
