import { expect, test } from '@jest/globals';
import { parseApiEnv } from '../../api/env.ts';
import { keyRingVariables, randomKeyRing } from '../../db/key-ring.ts';
import { parseWorkerEnv } from '../../workers/env.ts';

const whole = {
  PUBLIC_URL: 'https://api.longhaul.test',
  DATABASE_APP_URL: 'postgres://a@h/d',
  DATABASE_SWEEPER_URL: 'postgres://s@h/d',
  REDIS_URL: 'redis://h',
  TEMPORAL_ADDRESS: 'h:7233',
  STORAGE_DIR: '/attachments',
};

test('what is not set has its default, and the result can not be changed', () => {
  const env = parseApiEnv({ ...whole, METRICS_TOKEN: '' });

  expect(env).toMatchObject({
    host: '127.0.0.1',
    port: 3_000,
    logLevel: 'info',
    redisPrefix: 'lh:',
    metricsToken: null,
    trustedProxies: [],
    corsOrigins: [],
    drainSeconds: 5,
    billingCurrency: 'USD',
    allowHttp: false,
  });
  expect(Object.isFrozen(env)).toBe(true);
});

test('all bad variables are named at once, without their values', () => {
  const parse = () =>
    parseApiEnv({
      ...whole,
      PORT: 'eighty',
      PUBLIC_URL: 'https://x/path',
      REDIS_URL: 'http://canary',
      METRICS_TOKEN: 'canary',
      TEMPORAL_ADDRESS: undefined,
    });

  for (const name of ['PORT', 'PUBLIC_URL', 'REDIS_URL', 'METRICS_TOKEN', 'TEMPORAL_ADDRESS']) expect(parse).toThrow(name);
  expect(parse).not.toThrow('canary');
});

test('quotas are changed and switched off by name, those of the login never off', () => {
  expect(parseApiEnv({ ...whole, RATE_LIMITS: 'principal=10/60, workspace=off' }).quotas).toEqual({
    principal: { quota: 10, windowS: 60 },
    workspace: null,
  });
  expect(() => parseApiEnv({ ...whole, RATE_LIMITS: 'login_pair=off' })).toThrow('RATE_LIMITS');
  expect(() => parseApiEnv({ ...whole, RATE_LIMITS: 'nonsense=1/1' })).toThrow('RATE_LIMITS');
});

test('mails go by SMTP before files, and a deployment without either has no mailer', () => {
  const mailOf = (more: Record<string, string>) => parseApiEnv({ ...whole, ...more }).mail;
  const from = 'Us <us@example.org>';

  expect(mailOf({ SMTP_URL: '', MAIL_DIR: '' })).toBeNull();
  expect(mailOf({ MAIL_DIR: '/mails', MAIL_FROM: from })).toEqual({ kind: 'folder', folder: '/mails', from, linkUrl: null });
  expect(mailOf({ MAIL_DIR: '/mails', SMTP_URL: 'smtp://h', MAIL_FROM: from, MAIL_LINK_URL: 'https://app.example/' })).toEqual({
    kind: 'smtp',
    url: 'smtp://h',
    from,
    linkUrl: 'https://app.example',
  });
  const bad = [
    ['SMTP_URL', 'smtp://'],
    ['MAIL_FROM', 'nobody'],
    ['MAIL_FROM', 'a@b\r\nBcc: c@d'],
    ['MAIL_LINK_URL', 'ftp://h'],
  ] as const;
  for (const [name, value] of bad) expect(() => mailOf({ MAIL_DIR: '/mails', [name]: value })).toThrow(name);
});

test('a worker that mails must know where the deployment is', () => {
  const env = { ...whole, ...keyRingVariables(randomKeyRing()), PUBLIC_URL: '', MAIL_DIR: '/mails' };

  expect(() => parseWorkerEnv(env)).toThrow('PUBLIC_URL');
  expect(parseWorkerEnv({ ...env, MAIL_DIR: '' })).toMatchObject({ mail: null, publicUrl: '' });
  expect(parseWorkerEnv({ ...env, PUBLIC_URL: whole.PUBLIC_URL }).publicUrl).toBe(whole.PUBLIC_URL);
});
