import { expect, test } from '@jest/globals';
import { parseApiEnv } from '../../api/env.ts';

const whole = {
  PUBLIC_URL: 'https://api.longhaul.test',
  DATABASE_APP_URL: 'postgres://a@h/d',
  DATABASE_SWEEPER_URL: 'postgres://s@h/d',
  REDIS_URL: 'redis://h',
  TEMPORAL_ADDRESS: 'h:7233',
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
