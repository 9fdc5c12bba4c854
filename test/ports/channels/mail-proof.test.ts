import { createSocket, type Socket } from 'node:dgram';
import { generateKeyPairSync } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createTransport } from 'nodemailer';
import { findDkimKeys } from '../../../ports/channels/dkim-keys.ts';
import { isAligned, isVouchedFor, provingSignatures, verdictOf } from '../../../ports/channels/mail-proof.ts';
import { work, type ReadMail } from '../../../ports/channels/mail-work.ts';
import { startNameServer, type NameServer } from '../../fakes/name-server.ts';

const rsa = generateKeyPairSync('rsa', { modulusLength: 2_048 });
const weak = generateKeyPairSync('rsa', { modulusLength: 512 });
const pem = (key: typeof rsa.privateKey) => key.export({ format: 'pem', type: 'pkcs8' }).toString();
const record = (key: typeof rsa.publicKey) => `v=DKIM1; k=rsa; p=${key.export({ format: 'der', type: 'spki' }).toString('base64')}`;
const keyName = 's1._domainkey.mail.example';

/** Signed by nodemailer's own signer. */
async function signed({ domain = 'mail.example', from = 'ada@mail.example', key = rsa.privateKey, text = 'Hello' } = {}): Promise<Buffer> {
  const transport = createTransport({ streamTransport: true, buffer: true, newline: 'windows' });
  const { message } = await transport.sendMail({
    from,
    to: 'desk@agents.example',
    subject: 'Signed',
    messageId: '<signed@mail.example>',
    text,
    dkim: { domainName: domain, keySelector: 's1', privateKey: pem(key) },
  });
  return message as Buffer; // `buffer: true` gives one
}

async function read(raw: Buffer): Promise<ReadMail> {
  const result = await work({ kind: 'read', raw });
  if (result.kind !== 'read') throw new Error('not read');
  return result.mail;
}

const verify = async (raw: Buffer, keys: Readonly<Record<string, string[] | null>>, nowMs = Date.now()) => {
  const result = await work({ kind: 'verify', raw, keys, nowMs });
  return result.kind === 'verify' ? result.domains : [];
};
const keys = { [keyName]: [record(rsa.publicKey)] };

test('a signature of a foreign signer holds, with the key that its domain publishes', async () => {
  const raw = await signed();
  const mail = await read(raw);

  expect(provingSignatures(mail)).toEqual([{ domain: 'mail.example', keyName }]);
  expect(await verify(raw, keys)).toEqual(['mail.example']);
});

test('one byte changed, another key, no key, a weak key and what stands behind the signed length prove nothing', async () => {
  const raw = await signed();
  const other = generateKeyPairSync('rsa', { modulusLength: 2_048 });

  expect(await verify(Buffer.from(raw.toString().replace('Hello', 'Hallo')), keys)).toEqual([]);
  expect(await verify(Buffer.from(raw.toString().replace('ada@', 'eve@')), keys)).toEqual([]);
  expect(await verify(raw, { [keyName]: [record(other.publicKey)] })).toEqual([]);
  expect(await verify(raw, { [keyName]: null })).toEqual([]);
  expect(await verify(await signed({ key: weak.privateKey }), { [keyName]: [record(weak.publicKey)] })).toEqual([]);
  expect(await verify(Buffer.concat([raw, Buffer.from('Pay this, too.\r\n')]), keys)).toEqual([]);
});

test('a signature of somebody else’s domain is not looked at', async () => {
  const mail = await read(await signed({ domain: 'evil.test' }));

  expect([mail.signatures.map(({ domain }) => domain), provingSignatures(mail)]).toEqual([['evil.test'], []]);
});

test.each([
  ['mail.example', 'ada@mail.example', true],
  ['news.shop.co.uk', 'ada@shop.co.uk', true],
  ['shop.co.uk', 'ada@mail.shop.co.uk', true],
  ['other.co.uk', 'ada@shop.co.uk', false],
  ['co.uk', 'ada@shop.co.uk', false],
  ['evil.github.io', 'ada@good.github.io', false],
  ['ample', 'ada@mail.example', false],
  ['', 'ada@mail.example', false],
  ['xn--mnchen-3ya.de', 'ada@münchen.de', true],
])('%s speaks for %s: %s', (domain, author, isAlignedWith) => {
  expect(isAligned(domain, author)).toBe(isAlignedWith);
});

const mailOf = (headers: readonly string[]) => read(Buffer.from([...headers, '', 'Hello', ''].join('\r\n')));
const author = 'From: ada@mail.example';
const signature = (domain: string) => `DKIM-Signature: v=1; a=rsa-sha256; d=${domain}; s=s1; h=from; bh=x; b=y`;
const returnPath = (address: string) => `Return-Path: <${address}>`;

test.each([
  ['SPF for the domain of the author', [author], { spf: { result: 'pass', domain: 'mail.example' } }, true],
  ['SPF for another domain', [author], { spf: { result: 'pass', domain: 'evil.test' } }, false],
  ['SPF without a domain, the envelope of the author', [author, returnPath('bounces@mail.example')], { spf: 'pass' }, true],
  ['SPF without a domain, another envelope', [author, returnPath('x@evil.test')], { spf: 'pass' }, false],
  ['SPF without a domain, two envelopes', [author, returnPath('x@mail.example'), returnPath('x@evil.test')], { spf: 'pass' }, false],
  ['SPF without a domain nor envelope', [author], { spf: 'pass' }, false],
  ['SPF that failed', [author, returnPath('x@mail.example')], { spf: 'softfail' }, false],
  ['DKIM for the domain of the author', [author], { dkim: { result: 'pass', domain: 'mail.example' } }, true],
  [
    'one DKIM of several',
    [author],
    {
      dkim: [
        { result: 'pass', domain: 'esp.test' },
        { result: 'pass', domain: 'mail.example' },
      ],
    },
    true,
  ],
  [
    'a DKIM of several that failed',
    [author],
    {
      dkim: [
        { result: 'pass', domain: 'esp.test' },
        { result: 'fail', domain: 'mail.example' },
      ],
    },
    false,
  ],
  ['DKIM without a domain, all signatures the author’s', [author, signature('mail.example')], { dkim: 'pass' }, true],
  [
    'DKIM without a domain, a false signature beside another',
    [author, signature('mail.example'), signature('evil.test')],
    { dkim: 'pass' },
    false,
  ],
  ['DKIM without a domain nor signature', [author], { dkim: 'pass' }, false],
  ['nothing', [author], {}, false],
  ['no results', [author], { spf: true, dkim: { result: ['pass'] } }, false],
] as const)('a relay says %s', async (_what, headers, said, isProven) => {
  expect(isVouchedFor(await mailOf(headers), verdictOf(said))).toBe(isProven);
});

let names: NameServer;
let silent: Socket;

beforeAll(async () => {
  names = await startNameServer();
  silent = createSocket('udp4');
  await new Promise<void>((resolve) => silent.bind(0, '127.0.0.1', resolve));
});
afterAll(async () => {
  await names?.close();
  silent?.close();
});

test('keys come from the name servers that are set; one that is absent is known, one that nobody tells of is not', async () => {
  names.txt.set(keyName, [record(rsa.publicKey)]);

  const found = await findDkimKeys([keyName, 's1._domainkey.absent.example'], [names.address]);
  const unknown = await findDkimKeys([keyName], [`127.0.0.1:${silent.address().port}`]);

  expect(found).toEqual({ records: { [keyName]: [record(rsa.publicKey)], 's1._domainkey.absent.example': null }, isPartial: false });
  expect(unknown).toEqual({ records: { [keyName]: null }, isPartial: true });
});
