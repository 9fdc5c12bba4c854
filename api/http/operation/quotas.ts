/** Names of the rate-limit policies, as used in RateLimit headers and in `context.violated_policies`. */
export const limitPolicies = [
  'principal',
  'workspace',
  'anonymous',
  'login_pair',
  'login_account',
  'login_ip',
  'mfa',
  'mail_account',
  'mail_ip',
  'refresh',
  'oauth_token',
  'oauth_register',
  'user_create',
  'invitation_accept',
  'ingress',
  'webhook_endpoint',
] as const;
export type LimitPolicy = (typeof limitPolicies)[number];

/** A number of requests within a number of seconds. */
export interface Quota {
  readonly quota: number;
  readonly windowS: number;
}

/** The default quotas. `ingress` counts unverified requests by endpoint and address; `webhook_endpoint` verified ones, by their endpoint's own limit. */
export const defaultQuotas: Readonly<Record<LimitPolicy, Quota>> = {
  principal: { quota: 1_200, windowS: 60 },
  workspace: { quota: 6_000, windowS: 60 },
  anonymous: { quota: 300, windowS: 60 },
  login_pair: { quota: 5, windowS: 60 },
  login_account: { quota: 100, windowS: 3_600 },
  login_ip: { quota: 30, windowS: 60 },
  mfa: { quota: 10, windowS: 300 },
  mail_account: { quota: 3, windowS: 3_600 },
  mail_ip: { quota: 20, windowS: 3_600 },
  refresh: { quota: 60, windowS: 60 },
  oauth_token: { quota: 300, windowS: 60 },
  oauth_register: { quota: 10, windowS: 3_600 },
  user_create: { quota: 200, windowS: 86_400 },
  invitation_accept: { quota: 10, windowS: 60 },
  ingress: { quota: 60, windowS: 60 },
  webhook_endpoint: { quota: 60, windowS: 60 },
};
