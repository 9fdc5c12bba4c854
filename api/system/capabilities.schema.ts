import Type, { type Static } from 'typebox';
import { channelKinds } from '../../workflows/contracts/triggers/channels.ts';
import type { Embedder } from '../../ports/embeddings/index.ts';
import type { ApiEnv } from '../env.ts';
import { defaultQuotas, limitPolicies, type LimitPolicy } from '../http/operation/quotas.ts';
import { oauthScopes } from '../http/credentials/scopes.ts';
import { closed, integer, listOf, oneOf, text } from '../http/input/schema.ts';

const Limits = closed({
  body_bytes: integer(),
  attachment_bytes: integer(),
  page_max: integer(),
  idempotency_ttl_s: integer(),
  stream_token_ttl_s: integer(),
  run_wait_s: integer(),
  sync_hook_wait_s: integer(),
});

const Features = closed({
  attachments: Type.Boolean(),
  code_exec: Type.Boolean({ description: 'Tools of kind code_exec run JavaScript in a sandbox' }),
  code_exec_strict: Type.Boolean({ description: 'And any language, isolated by the kernel' }),
  code_review: Type.Boolean({
    description: 'Pull requests can be reviewed: this machine has git 2.39 or later, which bulk workers need too',
  }),
  evaluations: Type.Boolean(),
  knowledge: Type.Boolean(),
  mcp: Type.Boolean(),
  oauth: Type.Boolean(),
  sub_agents: Type.Boolean(),
  triggers: Type.Boolean(),
});

export const CapabilitiesView = closed(
  {
    contract_version: oneOf(['0.1.0']),
    oauth: closed({ dynamic_registration: Type.Boolean(), client_metadata_documents: Type.Boolean(), scopes: listOf(text(60)) }),
    mfa: closed({
      methods: listOf(oneOf(['totp', 'recovery_code'])),
      required: Type.Boolean({ description: 'Whether the organization of the caller requires it' }),
    }),
    embeddings: closed({
      default_model: text(120, { description: 'none: embeddings are disabled' }),
      models: listOf(closed({ name: text(120), dim: integer({ minimum: 1, maximum: 16_000 }) })),
    }),
    channels: listOf(text(60)),
    features: Features,
    limits: Limits,
    rate_limits: listOf(closed({ policy: oneOf(limitPolicies), quota: integer(), window_s: integer() })),
    websocket_path: text(200),
  },
  { $id: 'CapabilitiesView', description: 'Enabled features, and the limits that clients need to know' },
);

/** What the environment alone does not tell. */
interface CapabilitiesState {
  readonly embedder: Pick<Embedder, 'models' | 'defaultModel'>;
  /** By the organization of the caller. */
  readonly isMfaRequired: boolean;
  /** By the probe of this machine. */
  readonly hasStrictIsolation: boolean;
  /** By the same: git as code review needs it. */
  readonly hasGit: boolean;
}

/** The capabilities of this deployment; a feature that is off does not say why. */
export function toCapabilitiesView(env: ApiEnv, state: CapabilitiesState): Static<typeof CapabilitiesView> {
  return {
    contract_version: '0.1.0',
    oauth: {
      dynamic_registration: env.oauth.dynamicRegistration,
      client_metadata_documents: env.oauth.clientDocuments,
      scopes: [...oauthScopes.keys()],
    },
    mfa: { methods: [], required: state.isMfaRequired },
    embeddings: { default_model: state.embedder.defaultModel, models: state.embedder.models().map(({ id, dim }) => ({ name: id, dim })) },
    channels: [...channelKinds],
    features: {
      attachments: true,
      code_exec: env.hasCodeExec,
      code_exec_strict: state.hasStrictIsolation,
      code_review: state.hasGit,
      evaluations: true,
      knowledge: true,
      mcp: false,
      oauth: true,
      sub_agents: false,
      triggers: false,
    },
    limits: {
      body_bytes: 1_048_576,
      attachment_bytes: env.attachments.maxBytes,
      page_max: 200,
      idempotency_ttl_s: 86_400,
      stream_token_ttl_s: 60,
      run_wait_s: 60,
      sync_hook_wait_s: 25,
    },
    rate_limits: limitPolicies.flatMap((policy) => rateLimitOf(env, policy)),
    websocket_path: '/ws/runs/{run_id}',
  };
}

function rateLimitOf(env: ApiEnv, policy: LimitPolicy) {
  const quota = env.quotas[policy] === undefined ? defaultQuotas[policy] : env.quotas[policy];
  return quota ? [{ policy, quota: quota.quota, window_s: quota.windowS }] : [];
}
