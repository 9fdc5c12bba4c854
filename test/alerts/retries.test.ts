import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { Webhook } from 'standardwebhooks';
import { alertLetter, slackMessage } from '../../activities/delivery/alert-texts.ts';
import { toHtml, toText } from '../../activities/delivery/letter.ts';
import { alertSnapshot } from '../../db/alerts/alert-snapshot.ts';
import { alertRetries, judgeTry, noRetries, outcomeOfStatus, retryAfterOf } from '../../domain/deliveries/retries.ts';
import { signatureHeaders } from '../../ports/hooks/webhook-signature.ts';

const at = (attempts: number, random = 0.5) => ({ attempts, table: alertRetries, random });
const failed = (retryAfterS: number | null = null) => outcomeOfStatus(503, retryAfterS);

test('tries come after 10 s, 1, 5, 30 and 120 minutes, then it is dead; each a fifth earlier or later', () => {
  const delays = [1, 2, 3, 4, 5, 6].map((attempts) => judgeTry(failed(), at(attempts)));

  expect(delays.map((verdict) => ('delayMs' in verdict ? verdict.delayMs / 1_000 : verdict.status))).toEqual([
    10,
    60,
    300,
    1_800,
    7_200,
    'dead',
  ]);
  expect(judgeTry(failed(), at(1, 0))).toEqual({ status: 'failed', delayMs: 8_000 });
  expect(judgeTry(failed(), at(1, 0.999_999))).toEqual({ status: 'failed', delayMs: 12_000 });
  expect(judgeTry(failed(), { attempts: 1, table: noRetries, random: 0 })).toEqual({ status: 'dead' });
});

test.each([
  [200, 'taken'],
  [204, 'taken'],
  [301, 'failed'],
  [400, 'refused'],
  [404, 'refused'],
  [408, 'failed'],
  [410, 'refused'],
  [429, 'failed'],
  [500, 'failed'],
  [503, 'failed'],
])('HTTP %i is %s', (status, result) => {
  expect(outcomeOfStatus(status, null).result).toBe(result);
});

test('a longer Retry-After counts, up to an hour; a shorter one does not', () => {
  expect(judgeTry(failed(45), at(1))).toEqual({ status: 'failed', delayMs: 45_000 });
  expect(judgeTry(failed(86_400), at(1))).toEqual({ status: 'failed', delayMs: 3_600_000 });
  expect(judgeTry(failed(1), at(2))).toEqual({ status: 'failed', delayMs: 60_000 });
  const now = new Date('2026-05-01T00:00:00Z');
  expect(retryAfterOf('Fri, 01 May 2026 00:02:00 GMT', now)).toBe(120);
  expect([retryAfterOf('30', now), retryAfterOf('soon', now), retryAfterOf(undefined, now)]).toEqual([30, null, null]);
});

test('a signature verifies with a library that nobody here wrote, and with no byte changed', () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 24, maxLength: 64 }), fc.jsonValue(), (key, data) => {
      const secret = `whsec_${Buffer.from(key).toString('base64')}`;
      const body = JSON.stringify({ data });
      const timestampS = Math.floor(Date.now() / 1_000);
      const headers = signatureHeaders([secret], { id: 'msg_1', timestampS, body });
      const receiver = new Webhook(secret);

      expect(receiver.verify(body, headers)).toEqual(JSON.parse(body));
      expect(() => receiver.verify(`${body} `, headers)).toThrow();
      expect(() => receiver.verify(body, { ...headers, 'webhook-id': 'msg_2' })).toThrow();
    }),
  );
  // While a secret is replaced both sign, and a receiver may hold either.
  const old = `whsec_${Buffer.alloc(24, 1).toString('base64')}`;
  const headers = signatureHeaders(['any text that is no base64', old], {
    id: 'm',
    timestampS: Math.floor(Date.now() / 1_000),
    body: '{}',
  });
  expect(new Webhook(old).verify('{}', headers)).toEqual({});
  expect(new Webhook('any text that is no base64', { format: 'raw' }).verify('{}', headers)).toEqual({});
});

const hostile = 'A <b>&"quote" <!channel> <https://evil.test|click>\r\nBcc: x@evil.test';
const alert = alertSnapshot(
  {
    id: '0197a000-0000-7000-8000-000000000001',
    organizationId: '0197a000-0000-7000-8000-000000000002',
    workspaceId: null,
    ruleId: '0197a000-0000-7000-8000-000000000003',
    labels: { group: 'other' },
    status: 'firing',
    severity: 'critical',
    title: hostile,
    value: '30',
    threshold: '25',
    openedAt: '2026-05-01T10:00:00.000Z',
    lastSeenAt: '2026-05-01T10:00:00.000Z',
    acknowledgedAt: null,
    acknowledgedByUserId: null,
    snoozedUntil: null,
    resolvedAt: null,
    resolvedByUserId: null,
    resolution: null,
    updatedAt: '2026-05-01T10:00:00.000Z',
  },
  { name: hostile, kind: 'spend' },
);

test.each([
  ['budget', '101.3 %', '100 %'],
  ['run_failure_pct', '101.3 %', '100 %'],
  ['runs_waiting', '101.3', '100'],
] as const)('a notice of %s says its value as %s', (kind, value, threshold) => {
  const told = {
    event: 'firing',
    alert: { ...alert, kind, value: '101.30', threshold: '100.00' },
    workspaceName: null,
    publicUrl: null,
  } as const;
  const slack = JSON.parse(slackMessage(told)) as { text: string };

  for (const text of [toText(alertLetter(told)), slack.text]) {
    expect(text).toMatch(new RegExp(`^Value: ${value}$`, 'm'));
    expect(text).toMatch(new RegExp(`^Threshold: ${threshold}$`, 'm'));
  }
});

test('labels are words in mails and in Slack, not names of fields', () => {
  const labels = { agent_id: alert.rule_id ?? '', workspace_id: alert.organization_id };
  const told = { event: 'firing', alert: { ...alert, labels }, workspaceName: null, publicUrl: null } as const;
  const slack = JSON.parse(slackMessage(told)) as { text: string };

  for (const text of [toText(alertLetter(told)), slack.text]) {
    expect(text).toMatch(/^Agent id: /m);
    expect(text).toMatch(/^Workspace id: /m);
    expect(text).not.toMatch(/[a-z]_[a-z]/);
  }
});

test('what people name is escaped in mails and for Slack, and the only link leads to PUBLIC_URL', () => {
  const told = { event: 'firing', alert, workspaceName: hostile, publicUrl: 'https://longhaul.test' } as const;
  const letter = alertLetter(told);
  const html = toHtml(letter);
  const slack = JSON.parse(slackMessage(told)) as { text: string };

  expect(html).not.toMatch(/<b>|<!channel>|<https/);
  expect([...html.matchAll(/href="([^"]*)"/g)].map(([, href]) => href)).toEqual([`https://longhaul.test/alerts/${alert.id}`]);
  expect(toText(letter)).not.toMatch(/^\s*Bcc:/m);
  expect([...slack.text.matchAll(/<[^>]*>/g)].map(([link]) => link)).toEqual([`<https://longhaul.test/alerts/${alert.id}|Open the alert>`]);
});
