import { Channel } from '../../db/channels/channel.entity.ts';
import { listChannelRows, readChannel, type ChannelRow } from '../../db/channels/channels.ts';
import { forgetReplies } from '../../domain/http/idempotency.ts';
import { resolveNewRowWorkspace } from '../../db/new-row-scope.ts';
import { mapPage } from '../../db/page.ts';
import { seeForChange } from '../../db/scope.ts';
import { readEgressAllowlist } from '../../db/tenancy/organizations/egress-policy.ts';
import { changeChannel, deleteChannel, makeChannel, type ChannelDeps } from '../../domain/channels/channels.ts';
import { changesOf } from '../http/operation/changes.ts';
import { area, get, list, patch, post, remove, reply, type AuditNote, type Ctx } from '../http/operation/operation.ts';
import {
  changedChannelFields,
  ChannelCreate,
  ChannelFilters,
  ChannelParams,
  ChannelTest,
  ChannelTestView,
  ChannelUpdate,
  ChannelView,
  newChannelFields,
  toChannelView,
} from './channel.schema.ts';
import { receiveChannelMessage } from './inbound.operations.ts';
import { prepareTest, testService } from './test-channel.ts';

const resourceType = 'channel';

/** Chat services in which people talk to agents. */
export const channels = area('Channels', {
  listChannels: list(
    '/channels',
    {
      summary: 'List channels',
      description: 'Channels that the caller can see, newest first.',
      access: 'viewer',
      paging: 'keyset',
      query: ChannelFilters,
      view: ChannelView,
    },
    async (ctx, { query: { kind, agent_id: agentId, is_active: isActive } }) => {
      const active = isActive === true ? (true as const) : undefined;
      const inactive = isActive === false ? (true as const) : undefined;
      return mapPage(await listChannelRows(ctx, { kind, agentId, active, inactive }, ctx.page), (row) =>
        toChannelView(row, ctx.deps.env.publicUrl),
      );
    },
  ),

  createChannel: post(
    '/channels',
    {
      summary: 'Create a channel',
      description:
        'Connects a chat service to an agent: messages sent to `inbound_url` start runs, and the answers are posted to the thread. At most 50 per workspace.',
      access: 'admin',
      fails: ['state_conflict'],
      audit: 'create',
      idempotent: true,
      resourceType,
      location: (view: { readonly id: string }) => `/channels/${view.id}`,
      body: ChannelCreate,
      view: ChannelView,
      example: {
        body: {
          kind: 'webhook',
          name: 'Support desk',
          agent_id: '01960000-0000-7000-8000-000000000001',
          settings: { outbound_url: 'https://desk.example.com/answers' },
          secrets: { signing_secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw' },
        },
      },
    },
    async (ctx, { body }) => {
      const place = await resolveNewRowWorkspace(ctx, body.workspace_id);
      const { kind, settings, secrets = {} } = body;
      const id = await makeChannel(ctx, await depsOf(ctx, place.organizationId), {
        ...newChannelFields(body),
        ...place,
        kind,
        settings,
        secrets,
      });
      const row = await readChannel(ctx, id);
      ctx.audit(noteOf(row));
      return toChannelView(row, ctx.deps.env.publicUrl);
    },
  ),

  getChannel: get(
    '/channels/{channel_id}',
    {
      summary: 'Read a channel',
      description: 'Returns one channel with its status and the time of the last message.',
      access: 'viewer',
      etag: true,
      // Both change independently of the version.
      notModified: false,
      params: ChannelParams,
      view: ChannelView,
    },
    async (ctx, { params }) => {
      const row = await readChannel(ctx, params.channel_id);
      return reply(toChannelView(row, ctx.deps.env.publicUrl), { version: row.version });
    },
  ),

  updateChannel: patch(
    '/channels/{channel_id}',
    {
      summary: 'Change a channel',
      description: 'Changes the fields that are sent and keeps the rest. Applies from the next message on.',
      access: 'admin',
      audit: 'update',
      etag: true,
      resourceType,
      params: ChannelParams,
      body: ChannelUpdate,
      view: ChannelView,
      example: { body: { on_busy: 'steer', feedback_buttons: true } },
    },
    async (ctx, { params, body }) => {
      const { publicUrl } = ctx.deps.env;
      const before = await readChannel(ctx, params.channel_id);
      const channel = await seeForChange(ctx, Channel, params.channel_id);
      await changeChannel(ctx, await depsOf(ctx, channel.organizationId), { channel, change: changedChannelFields(body) });
      const row = await readChannel(ctx, channel.id);
      const changes = changesOf(toChannelView(before, publicUrl), toChannelView(row, publicUrl), audited);
      ctx.audit(noteOf(row, body.secrets === undefined ? changes : { ...changes, secrets: { changed: true } }));
      return reply(toChannelView(row, publicUrl), { version: row.version });
    },
  ),

  deleteChannel: remove(
    '/channels/{channel_id}',
    {
      summary: 'Delete a channel',
      description:
        'Its address answers 404 at once, its secrets are erased, and unsent messages are discarded. Runs that it has started continue.',
      access: 'admin',
      audit: 'delete',
      openWhenSuspended: true,
      resourceType,
      params: ChannelParams,
    },
    async (ctx, { params }) => {
      const row = await readChannel(ctx, params.channel_id);
      const channel = await seeForChange(ctx, Channel, params.channel_id, { versionProperty: null, openWhenSuspended: true });
      await deleteChannel(ctx, channel, ctx.deps.now());
      await forgetReplies(ctx, [channel.id]);
      ctx.audit(noteOf(row));
    },
  ),

  testChannel: post(
    '/channels/{channel_id}/test',
    {
      summary: 'Test a channel',
      description:
        'Checks whether the service accepts the credentials, and sends a message if `send_to` names a destination. A failure is reported as `ok: false`.',
      access: 'admin',
      audit: 'submit',
      idempotent: true,
      success: [200],
      resourceType,
      params: ChannelParams,
      body: ChannelTest,
      view: ChannelTestView,
      example: { body: { send_to: 'C0123456789', text: 'Hello' } },
    },
    async (ctx, { params, body }) => {
      const row = await readChannel(ctx, params.channel_id);
      const prepared = await prepareTest(ctx, row, { sendTo: body.send_to ?? null, text: body.text ?? null });
      ctx.audit(noteOf(row));
      const nothing = { ok: false, checks: [], identity: null, sent_message_id: null };
      return reply(nothing, { afterCommit: async () => reply(await testService(ctx, prepared)) });
    },
  ),

  receiveChannelMessage,
});

const audited = [
  'name',
  'agent_id',
  'settings',
  'persona_slug',
  'on_busy',
  'session_scope',
  'reply_to',
  'allowed_senders',
  'allowed_bots',
  'streaming',
  'feedback_buttons',
  'is_active',
] as const;

async function depsOf({ deps, em }: Pick<Ctx, 'deps' | 'em'>, organizationId: string): Promise<ChannelDeps> {
  return { keys: deps.keys, policy: { allowHttp: deps.env.allowHttp, exceptions: await readEgressAllowlist({ em }, organizationId) } };
}

function noteOf({ id, name, organizationId, workspaceId }: ChannelRow, changes: AuditNote['changes'] = {}): AuditNote {
  return { resourceType, resourceId: id, label: name, organizationId, workspaceId, changes };
}
