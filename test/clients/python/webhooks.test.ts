import { afterAll, expect, test } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { signatureHeaders } from '../../../ports/hooks/webhook-signature.ts';
import { describePython, startPlayer, type Player } from './python.ts';

describePython('webhooks in the Python client', () => {
  let player: Player | undefined;
  const playing = () => (player ??= startPlayer('webhooks'));
  afterAll(() => player?.stop());

  const timestampS = 1_780_000_000;
  const body = JSON.stringify({ type: 'run.finished', data: { text: 'Größe ☃' } });
  const [first, second, plain] = [
    'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
    `whsec_${Buffer.from('k'.repeat(24)).toString('base64')}`,
    'a plain secret',
  ];
  const signed = (secrets: string[]) => ({
    body,
    headers: signatureHeaders(secrets, { id: 'msg_1', timestampS, body }),
    now: timestampS + 60,
  });

  test('what the platform signs verifies, with each of its secrets', async () => {
    const given = [
      { ...signed([first]), secrets: [first] },
      { ...signed([first, second]), secrets: [second] },
      { ...signed([plain]), secrets: [plain] },
      { ...signed([plain]), secrets: [first, plain] },
      { ...signed([first]), secrets: [second, plain] },
      { ...signed([first]), secrets: [first], now: timestampS + 301 },
      { ...signed([first]), secrets: [first], body: body.slice(0, -1) },
    ];
    const good = 'run.finished';

    expect(await playing().play('vectors', { given })).toEqual([good, good, good, good, null, null, null]);
  });

  test('what the published package for Node signs verifies', async () => {
    const signature = new Webhook(first).sign('msg_2', new Date(timestampS * 1_000), body);
    const headers = { 'WEBHOOK-ID': 'msg_2', 'WEBHOOK-TIMESTAMP': String(timestampS), 'WEBHOOK-SIGNATURE': signature };

    expect(await playing().play('vectors', { given: [{ body, headers, secrets: first, now: timestampS }] })).toEqual(['run.finished']);
  });

  test('what the published package for Python signs verifies; all else is the one error', async () => {
    const good = { 'good': true, 'any secret': true, 'any signature': true, 'lists and bytes': true, 'early': true };
    const refused = expect.not.arrayContaining([expect.any(String)]);
    const shown = await playing().play<Record<string, { refused: unknown[] }>>('of_the_standard_package');

    expect(shown).toEqual({ 'plain': { ...good, refused }, 'multi-byte': { ...good, refused }, 'not events': [null, null, null, null] });
    expect(shown['plain']?.refused).toHaveLength(24);
  });
});
