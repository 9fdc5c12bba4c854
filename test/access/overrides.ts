import { randomBytes } from 'node:crypto';
import { generateSync } from 'otplib';
import { tokenHash } from '../../db/identity/factors/opaque-tokens.ts';
import { encrypt } from '../../db/envelope.ts';
import { sweep } from '../../db/transaction.ts';
import { channelBinding, endpointBinding } from '../../db/encrypted-columns.ts';
import { completeMcpConfig } from '../../domain/toolkits/toolkit-config.ts';
import { testPassword } from '../support/tenant.ts';
import { asObject } from './requests.ts';
import type { Stage } from './stage.ts';
import { makeUser, signedIn, type Actor, type Ground } from './world/actors.ts';
import { platform, type Place } from './world/places.ts';
import { makeWhole } from './world/world.ts';

/** A request as the schemas alone suggest it. */
export interface Aimed {
  readonly params: Readonly<Record<string, string>>;
  readonly body: unknown;
  readonly query: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string>>;
}

export interface Situation {
  readonly stage: Stage;
  readonly actor: Actor;
  readonly ground: Ground;
  /** Where what a body names must lie for the actor to find it: a workspace. */
  readonly own: Place;
  readonly aimed: Aimed;
}

type Override = (situation: Situation) => Partial<Aimed> | Promise<Partial<Aimed>>;

const body =
  (value: unknown): Override =>
  () => ({ body: value });
const freeSlug = () => `s-${crypto.randomUUID()}`;
const freeAddress = () => `e-${crypto.randomUUID()}@canary.test`;
const document = { model: 'builtin/extractive', instructions: 'Answer.' };
const liveKnowledgeRun = { status: 'queued', paused_at: null, cut_over_at: null, started_at: null, finished_at: null } as const;
const openFinding = { state: 'open', resolved_at: null } as const;
const openRun = { status: 'queued', finish_reason: null, finished_at: null, output: null };
const inADay = () => new Date(Date.now() + 86_400_000);
const waitingRun = () => ({
  ...openRun,
  status: 'waiting',
  waiting_on: 'approval',
  waiting_until: inADay(),
  waiting_since: new Date(),
  pending_approvals: 1,
});
const statelessMeta = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {} };
const newPassword = 'a wholly different horse battery 47';

/** Operations whose documented example would be refused on its meaning, and what they take instead. Others need no line here. */
export const overrides: Readonly<Record<string, Override>> = {
  createToolkit: () => ({ body: { slug: freeSlug(), name: 'Kit', kind: 'manual', config: {} } }),
  updateToolkit: body({ name: 'Renamed' }),
  // None is of the platform: an operator names the place.
  createAlertRule: ({ own, aimed }) => ({ body: { ...asObject(aimed.body), workspace_id: own.workspaceId } }),
  createEvaluation: ({ stage, own }) => ({
    body: {
      agent_id: stage.world.rows.first('agents', own)?.['id'],
      dataset: { items: [{ input: 'Hello' }] },
      evaluators: [{ key: 'brief', type: 'turns', params: { max: 1 } }],
    },
  }),
  createRepoBinding: ({ stage, own }) => provenRepository(stage, own),
  createReviewPlaybook: () => ({ body: { slug: freeSlug(), name: 'Playbook' } }),
  cloneReviewPlaybook: () => ({ body: { slug: freeSlug() } }),
  updateRepoBinding: body({ is_active: true, budget_config: { per_day: '5' } }),
  updateReviewPlaybook: body({ name: 'Renamed' }),
  createWebhookEndpoint: ({ own, aimed }) => ({ body: { ...asObject(aimed.body), workspace_id: own.workspaceId } }),
  createSchedule: ({ own, aimed }) => ({ body: { ...asObject(aimed.body), workspace_id: own.workspaceId } }),
  createEventTrigger: ({ own, aimed }) => ({ body: { ...asObject(aimed.body), workspace_id: own.workspaceId } }),
  publishEvent: ({ own, aimed }) => ({ body: { ...asObject(aimed.body), workspace_id: own.workspaceId } }),
  rotateWebhookEndpointSecret: async ({ stage, ground }) => ({ params: { endpoint_id: (await tokenHook(stage, ground)).endpointId } }),
  replayWebhookDelivery: async ({ stage, ground }) => {
    const { rows } = stage.world;
    const endpoint_id = await makeWhole(rows, { table: 'webhook_endpoints', place: ground.home });
    const given = { endpoint_id, body: Buffer.from('{}') };
    return { params: { endpoint_id, delivery_id: await makeWhole(rows, { table: 'webhook_deliveries', place: ground.home, given }) } };
  },
  receiveHook: async ({ stage, ground }) => {
    const slug = freeSlug();
    await makeWhole(stage.world.rows, { table: 'webhook_endpoints', place: ground.home, given: { slug, verification: 'none' } });
    return { params: { workspace_id: ground.home.workspaceId ?? '', slug } };
  },
  createChannel: ({ own, aimed }) => ({
    body: {
      ...asObject(aimed.body),
      workspace_id: own.workspaceId,
      kind: 'webhook',
      settings: { outbound_url: 'https://desk.example.com/answers' },
      secrets: { signing_secret: 'a-secret-of-the-tests' },
    },
  }),
  updateChannel: ({ aimed }) => ({ body: { ...asObject(aimed.body), settings: undefined, secrets: undefined } }),
  testChannel: () => ({ body: {} }),
  receiveChannelMessage: async ({ stage, ground }) => {
    const { channelId, token } = await tokenChannel(stage, ground);
    return { params: { channel_id: channelId }, headers: { 'x-telegram-bot-api-secret-token': token }, body: { update_id: 1 } };
  },
  receiveHookByGet: async ({ stage, ground }) => {
    const { slug, token } = await tokenHook(stage, ground);
    return { params: { workspace_id: ground.home.workspaceId ?? '', slug }, headers: { 'x-webhook-token': token } };
  },
  // The example names a secret, which has to be there.
  updateAlertRule: body({ threshold: '40' }),
  createToolkitRevision: body({ source: { type: 'manual', tools: [] } }),
  activateToolkitRevision: async ({ stage, ground }) => {
    const toolkit_id = await makeWhole(stage.world.rows, { table: 'toolkits', place: ground.home });
    const revision_id = await makeWhole(stage.world.rows, { table: 'toolkit_revisions', place: ground.home, given: { toolkit_id } });
    return { params: { toolkit_id, revision_id }, body: { approve: 'all' } };
  },
  syncMcpToolkit: async ({ stage, ground }) => ({ params: { toolkit_id: await mcpToolkit(stage, ground) }, body: {} }),
  getMcpToolkitStatus: async ({ stage, ground }) => ({ params: { toolkit_id: await mcpToolkit(stage, ground) } }),
  updateTool: body({ display_name: 'Renamed' }),
  restoreKnowledgeItem: async ({ stage, ground }) => ({
    params: {
      item_id: await makeWhole(stage.world.rows, { table: 'knowledge_items', place: ground.home, given: { deleted_at: new Date() } }),
    },
  }),
  purgeKnowledgeBase: ({ stage, aimed }) => ({
    body: { confirm: stage.world.rows.find('knowledge_bases', aimed.params['kb_id'] ?? '')?.['slug'], mode: 'tombstones' },
  }),
  curateKnowledgeItem: body({ curation_state: 'retired' }),
  // What changes no item leaves no entry.
  curateKnowledgeItems: async ({ stage, ground, aimed }) => {
    const item = await makeWhole(stage.world.rows, {
      table: 'knowledge_items',
      place: ground.home,
      given: { kb_id: aimed.params['kb_id'] },
    });
    return { body: { item_ids: [item], curation_state: 'retired' } };
  },
  // No worker answers here: the stage's database does.
  testTool: body({ arguments: {}, dry_run: true }),
  setToolSecrets: async ({ stage, ground }) => {
    const tool_id = await makeWhole(stage.world.rows, { table: 'tools', place: ground.home, given: { secrets_required: ['key'] } });
    return { params: { tool_id }, body: { values: { key: 'hush' } } };
  },
  deleteToolSecret: async ({ stage, ground }) => {
    const tool_id = await makeWhole(stage.world.rows, { table: 'tools', place: ground.home });
    return { params: { tool_id, name: String((await stage.world.rows.make('secrets', ground.home, { tool_id }))['name']) } };
  },
  createRun: ({ stage, own }) => ({
    body: { agent_id: stage.world.rows.first('agents', own)?.['id'], workspace_id: own.workspaceId ?? undefined, input: { text: 'Hello' } },
  }),
  cancelRun: async ({ stage, ground }) => ({
    params: { run_id: await makeWhole(stage.world.rows, { table: 'runs', place: ground.home, given: openRun }) },
  }),
  addRunInput: async ({ stage, ground }) => ({
    params: { run_id: await makeWhole(stage.world.rows, { table: 'runs', place: ground.home, given: openRun }) },
    body: { kind: 'message', text: 'Go on' },
  }),
  resolveRunApprovals: async ({ stage, ground }) => {
    const { rows } = stage.world;
    const run_id = await makeWhole(rows, { table: 'runs', place: ground.home, given: waitingRun() });
    const asked = {
      run_id,
      root_run_id: run_id,
      tool_call_id: null,
      status: 'pending',
      response: null,
      resolved_by_kind: null,
      resolved_at: null,
    };
    const { id } = await rows.make('approvals', ground.home, { ...asked, approver_floor: 'member', critical: false, expires_at: inADay() });
    return { params: { run_id }, body: { resolutions: [{ approval_id: id, decision: 'reject' }] } };
  },
  retryRun: async ({ stage, ground }) => {
    const { rows } = stage.world;
    const { id } = await rows.make('conversations', ground.home, { session_key: crypto.randomUUID(), turn_no: 1 });
    return {
      params: { run_id: await makeWhole(rows, { table: 'runs', place: ground.home, given: { conversation_id: id, turn_no: 1 } }) },
      body: {},
    };
  },
  waitForRun: () => ({ query: { timeout_s: '1' } }),
  exportUsage: () => ({ query: { from: '2026-01-01T00:00:00Z', to: '2027-01-01T00:00:00Z' } }),
  createAttachment: ({ own, aimed }) => ({ body: { ...asObject(aimed.body), workspace_id: own.workspaceId } }),
  getAttachment: async ({ stage, ground }) => ({
    params: { attachment_id: await makeWhole(stage.world.rows, { table: 'attachments', place: ground.home }) },
    // Its bytes lie nowhere.
    headers: { accept: 'application/json' },
  }),
  createAgent: () => ({ body: { slug: freeSlug(), name: 'Agent', revision: document } }),
  updateAgent: body({ name: 'Renamed' }),
  createAgentRevision: body({ document }),
  importAgent: () => ({ body: { slug: freeSlug(), name: 'Imported', revision: document } }),
  cloneAgent: () => ({ body: { slug: freeSlug(), include_personas: false } }),
  validateAgentRevision: body({ revision: document }),
  createPersona: () => ({ body: { slug: freeSlug(), name: 'Persona' } }),
  updatePersona: body({ name: 'Renamed' }),
  createKnowledgeBase: () => ({ body: { slug: freeSlug(), name: 'Base' } }),
  // A role is granted once a base.
  createKnowledgeGrant: async ({ stage, ground, aimed }) => ({
    ...aimed,
    params: { kb_id: await makeWhole(stage.world.rows, { table: 'knowledge_bases', place: ground.home }) },
  }),
  createMaintenanceRun: body({ tasks: ['verify'] }),
  cancelMaintenanceRun: async ({ stage, ground }) => ({
    params: { run_id: await makeWhole(stage.world.rows, { table: 'knowledge_runs', place: ground.home, given: liveKnowledgeRun }) },
  }),
  putMaintenancePolicy: body({ stale_after_days: 30 }),
  resolveKnowledgeFinding: async ({ stage, ground }) => ({
    params: { finding_id: await makeWhole(stage.world.rows, { table: 'knowledge_findings', place: ground.home, given: openFinding }) },
    body: { action: 'dismiss' },
  }),
  createSkill: () => ({ body: { slug: freeSlug(), description: 'What it is for.', instructions: 'Do this.' } }),
  importSkill: () => ({ body: { slug: freeSlug(), markdown: '---\ndescription: What it is for.\n---\nDo this.' } }),
  updateSkill: async ({ stage, ground }) => ({
    params: { skill_id: await pendingSkill(stage, ground) },
    body: { description: 'Changed.' },
  }),
  curateSkill: async ({ stage, ground }) => ({
    params: { skill_id: await pendingSkill(stage, ground) },
    body: { to: 'reviewed', version: 1 },
  }),
  createServiceKey: ({ own }) => ({ body: { name: 'another', workspace_id: own.workspaceId } }),

  login: async ({ stage, own }) => ({ body: { email: await addressOf(stage, own), password: testPassword } }),
  refreshTokens: async ({ stage, own }) => {
    const payload = { email: await addressOf(stage, own), password: testPassword };
    const { refresh_token } = (await stage.api.app.inject({ method: 'POST', url: '/auth/login', payload })).json();
    return { body: { refresh_token } };
  },
  verifyMfa: async ({ stage, actor, own }) => {
    if (actor.kind === 'user' || actor.kind === 'operator') return { body: { method: 'password', code: testPassword } };
    return { body: await challengeOf(stage, own) };
  },
  confirmTotp: async ({ stage, actor }) => ({ body: { code: await enrol(stage, actor.headers) } }),
  regenerateRecoveryCodes: async ({ stage, actor }) => {
    const place = actor.kind === 'operator' ? platform : actor.home;
    if (actor.userId) {
      await stage.world.rows.make('totp_factors', outer(place), { user_id: actor.userId, confirmed_at: new Date() });
      // By which the actor's session was verified: a password makes it fresh no longer.
      await stage.world.rows.query("update sessions set mfa_level = 'totp' where user_id = $1", [actor.userId]);
    }
    return {};
  },
  changePassword: body({ current_password: testPassword, new_password: newPassword }),
  resetPassword: async ({ stage, own }) => ({ body: { token: await mailToken(stage, own, 'password_reset'), new_password: newPassword } }),
  confirmEmail: async ({ stage, own }) => ({ body: { token: await mailToken(stage, own, 'email_confirm') } }),

  putBudget: ({ stage, ground }) => withBudget(stage, ground),
  getBudget: ({ stage, ground }) => withBudget(stage, ground),
  getBudgetStatus: ({ stage, ground }) => withBudget(stage, ground),
  deleteBudget: ({ stage, ground }) => withBudget(stage, ground),

  updateOrganizationSettings: body({ invitation_days: 8 }),
  transferOwnership: async ({ stage, actor, ground }) => {
    const made = (role: 'owner' | 'viewer') => makeUser(stage.world.rows, { place: ground.organization, role });
    const giver = actor.kind === 'operator' ? { from_user_id: await made('owner') } : {};
    return { body: { user_id: await made('viewer'), ...giver } };
  },
  setWorkspaceMember: async ({ stage, ground }) => ({
    params: { workspace_id: ground.home.workspaceId, user_id: await granted(stage, ground) },
    body: { role: 'viewer' },
  }),
  removeWorkspaceMember: async ({ stage, ground }) => ({
    params: { workspace_id: ground.home.workspaceId, user_id: await granted(stage, ground) },
  }),
  createUser: ({ own }) => ({ body: { email: freeAddress(), role: 'viewer', scope: 'workspace', workspace_id: own.workspaceId } }),
  setUserRole: body({ role: 'viewer' }),
  createInvitation: ({ own }) => ({ body: { email: freeAddress(), role: 'viewer', scope: 'workspace', workspace_id: own.workspaceId } }),
  acceptInvitation: async ({ stage, own }) => {
    const token = `lh_ml_${randomBytes(32).toString('base64url')}`;
    const inviter = await makeUser(stage.world.rows, {
      place: { ...own, name: own.name.charAt(0), scope: 'organization', workspaceId: null },
      role: 'owner',
    });
    const invitation = await stage.world.rows.make('invitations', own, { token_hash: tokenHash(token), invited_by_user_id: inviter });
    return { body: { token, email: invitation['email'], full_name: 'Grace', password: newPassword } };
  },
  putSecret: () => ({ params: { name: `S${crypto.randomUUID()}` }, body: { value: 'hush' } }),
  // Without a scope the caller's own is meant.
  deleteSecret: async ({ stage, actor }) => {
    const place = actor.sight === 'everything' ? platform : actor.home;
    return { params: { name: String((await stage.world.rows.make('secrets', place))['name']) } };
  },

  callMcp: () => ({
    body: { jsonrpc: '2.0', id: 1, method: 'server/discover', params: { _meta: statelessMeta } },
    headers: { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'server/discover' },
  }),

  startAuthorization: ({ stage }) => ({ query: authorizationOf(stage) }),
  decideAuthorization: async ({ stage }) => {
    const url = `/oauth/authorize?${new URLSearchParams(authorizationOf(stage)).toString()}`;
    const { transaction_id } = (await stage.api.app.inject({ url, headers: { accept: 'application/json' } })).json();
    return { body: { transaction_id, decision: 'approve' } };
  },
  issueOauthToken: () => form({ grant_type: 'refresh_token', refresh_token: 'unknown', client_id: 'unknown' }),
  revokeOauthToken: () => form({ token: 'unknown', client_id: 'unknown' }),
  introspectOauthToken: () => form({ token: 'unknown', client_id: 'unknown' }),
  rotateOauthClientSecret: async ({ stage, ground }) => {
    const secret = { token_endpoint_auth_method: 'client_secret_basic', secret_hash: randomBytes(32) };
    return { params: { client_id: String((await stage.world.rows.make('oauth_clients', ground.home, secret))['client_id']) } };
  },

  createOrganization: () => ({ body: { name: 'New', slug: freeSlug(), owner: { email: freeAddress(), password: newPassword } } }),
  suspendOrganization: ({ stage, ground }) => ({ body: { reason: 'To see what happens', confirm: slugOf(stage, ground) } }),
  purgeOrganization: async ({ stage, ground }) => {
    const sql = "update organizations set status = 'deleting', delete_after = now() + interval '30 days' where id = $1";
    await stage.world.rows.query(sql, [ground.organization.organizationId]);
    return { body: { reason: 'To see what happens', confirm: slugOf(stage, ground) } };
  },
};

/** A skill that anybody of the place sees and a curator may approve. */
function pendingSkill(stage: Stage, { home }: Ground): Promise<string> {
  return makeWhole(stage.world.rows, { table: 'skills', place: home });
}

function mcpToolkit(stage: Stage, { home }: Ground): Promise<string> {
  return makeWhole(stage.world.rows, {
    table: 'toolkits',
    place: home,
    given: { kind: 'mcp', config: completeMcpConfig({ url: 'https://mcp.canary.test/mcp' }) },
  });
}

/** The organization around a place, or the platform. */
function outer(place: Place): Place {
  return place.organizationId === null ? place : { ...place, scope: 'organization', workspaceId: null };
}

/** A token as mails carry them, for a user of the place. */
async function mailToken(stage: Stage, place: Place, purpose: string): Promise<string> {
  const token = `lh_ml_${randomBytes(32).toString('base64url')}`;
  const [userId, email] = [await makeUser(stage.world.rows, { place, role: 'viewer' }), freeAddress()];
  await stage.world.rows.query('update user_credentials set pending_email = $1 where user_id = $2', [email, userId]);
  await stage.world.rows.make('auth_challenges', outer(place), {
    purpose,
    token_hash: tokenHash(token),
    user_id: userId,
    payload: { email },
  });
  return token;
}

/** Begins with a second factor and gives the code that confirms it. */
async function enrol(stage: Stage, headers: Readonly<Record<string, string>>): Promise<string> {
  const enrolment = (await stage.api.app.inject({ method: 'POST', url: '/auth/mfa/totp', headers })).json();
  return typeof enrolment.secret === 'string' ? generateSync({ secret: enrolment.secret }) : '000000';
}

/** A sign-in that waits for the second factor, answered by a recovery code. */
async function challengeOf(stage: Stage, place: Place): Promise<unknown> {
  const { headers, userId } = await signedIn(stage.world.base, stage.world.rows, { place, role: 'viewer' });
  const post = async (url: string, payload: object) => (await stage.api.app.inject({ method: 'POST', url, headers, payload })).json();
  const { codes } = await post('/auth/mfa/totp/confirm', { code: await enrol(stage, headers) });
  const { challenge_id } = await post('/auth/login', { email: stage.world.rows.find('users', userId)?.['email'], password: testPassword });
  return { challenge_id, method: 'recovery_code', code: codes[0] };
}

function form(fields: Readonly<Record<string, string>>): Partial<Aimed> {
  return { body: new URLSearchParams(fields).toString(), headers: { 'content-type': 'application/x-www-form-urlencoded' } };
}

/** A request for a code that the platform's own client may make. */
function authorizationOf(stage: Stage): Record<string, string> {
  return {
    response_type: 'code',
    client_id: String(stage.world.rows.first('oauth_clients', platform)?.['client_id']),
    redirect_uri: 'https://canary.test/callback',
    code_challenge: 'x'.repeat(43),
    code_challenge_method: 'S256',
    scope: 'agents:read',
    state: 'state',
  };
}

function slugOf(stage: Stage, ground: Ground): string {
  return String(stage.world.rows.find('organizations', ground.organization.organizationId)?.['slug']);
}

async function addressOf(stage: Stage, place: Place): Promise<string> {
  return String(stage.world.rows.find('users', await makeUser(stage.world.rows, { place, role: 'viewer' }))?.['email']);
}

/** A user of another workspace who may already work in this one, and so is seen from it. */
async function granted(stage: Stage, ground: Ground): Promise<string> {
  const userId = await makeUser(stage.world.rows, { place: { ...ground.second, name: ground.home.name }, role: 'viewer' });
  await stage.world.rows.make('workspace_grants', ground.home, { user_id: userId });
  return userId;
}

/** The budget of the month in the workspace that the path names: one is used up by who deletes it. */
async function withBudget({ world }: Stage, { home }: Ground): Promise<Partial<Aimed>> {
  await world.rows.query(
    `insert into budgets (id, organization_id, workspace_id, period, period_start, limit_amount, currency) values ($1, $2, $3, 'month', '2026-01-01', 5, 'USD')
     on conflict do nothing`,
    [crypto.randomUUID(), home.organizationId, home.workspaceId],
  );
  return {};
}

/** An endpoint that a token opens, and the token. */
async function tokenHook(stage: Stage, ground: Ground): Promise<{ endpointId: string; slug: string; token: string }> {
  const [slug, token] = [freeSlug(), 'a-token-of-the-tests'];
  const given = { slug, http_method: 'GET', verification: 'shared_token' };
  const endpointId = await makeWhole(stage.world.rows, { table: 'webhook_endpoints', place: ground.home, given });
  const sealed = await sweep(stage.api.db, (em) =>
    encrypt(em, stage.api.keys, endpointBinding(ground.home.organizationId, endpointId), Buffer.from(JSON.stringify([token]))),
  );
  await stage.world.rows.query('update webhook_endpoints set secrets_enc = $1 where id = $2', [sealed, endpointId]);
  return { endpointId, slug, token };
}

/** A channel that a token opens, and the token. */
async function tokenChannel(stage: Stage, ground: Ground): Promise<{ channelId: string; token: string }> {
  const token = 'a-token-of-the-tests';
  const channelId = await makeWhole(stage.world.rows, {
    table: 'channels',
    place: ground.home,
    given: { kind: 'telegram', settings: '{}' },
  });
  const sealed = await sweep(stage.api.db, (em) =>
    encrypt(
      em,
      stage.api.keys,
      channelBinding(ground.home.organizationId, channelId),
      Buffer.from(JSON.stringify({ webhook_secret: token })),
    ),
  );
  await stage.world.rows.query('update channels set secrets_enc = $1 where id = $2', [sealed, channelId]);
  return { channelId, token };
}

/** A repository that the deployment's App opens for a workspace, as an operator has listed. */
async function provenRepository({ gitHub, world }: Stage, { organizationId, workspaceId }: Place): Promise<Partial<Aimed>> {
  const { host, app } = gitHub;
  const { state } = host;
  const [installation_id, id, name] = [state.nextId(), state.nextId(), freeSlug()];
  state.repositories.push({ id, owner: 'acme', name, isPrivate: true, folder: '', collaborators: new Map(), pulls: new Map(), checks: [] });
  const permissions = { metadata: 'read' };
  state.installations.push({
    id: installation_id,
    appId: app.id,
    account: 'acme',
    repositoryIds: new Set([id]),
    permissions,
    suspendedAt: null,
  });
  await world.rows.query('update organization_settings set git_installations = git_installations || $1::jsonb where organization_id = $2', [
    JSON.stringify([{ installation_id, workspace_id: workspaceId }]),
    organizationId,
  ]);
  return { body: { workspace_id: workspaceId, installation_id, repo_full_name: `acme/${name}` } };
}
