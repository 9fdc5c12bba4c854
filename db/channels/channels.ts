import { sql } from 'kysely';
import type { ChannelKind } from '../../workflows/contracts/triggers/channels.ts';
import type { Condition } from '../condition.ts';
import { preparedList } from '../page-query.ts';
import type { PageRequest } from '../page.ts';
import { prepared, type ParametersOf } from '../prepared.ts';
import { query } from '../query.ts';
import { visibleToSql, seen, visibleTo, type Scoped } from '../scope.ts';
import { row } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import { Channel } from './channel.entity.ts';

/** A channel as it is read, without its secrets. */
export type ChannelRow = NonNullable<Awaited<ReturnType<typeof readChannelRow>>>;

export interface ChannelFilters {
  readonly kind?: ChannelKind;
  readonly agentId?: string;
  /** Each is true or undefined: a prepared query only sees which are present. */
  readonly active?: true;
  readonly inactive?: true;
}

const lastInbound = sql<string | null>`(select m.created_at from channel_messages m where m.channel_id = c.id order by m.id desc limit 1)`;

function selectChannels(visible: Condition) {
  return query
    .selectFrom('channels as c')
    .where('c.deletedAt', 'is', null)
    .where(visible)
    .select(['c.id', 'c.organizationId', 'c.workspaceId', 'c.agentId', 'c.kind', 'c.name', 'c.settings', 'c.secretNames', 'c.personaSlug'])
    .select(['c.onBusy', 'c.sessionScope', 'c.replyTo', 'c.allowedSenders', 'c.allowedBots', 'c.streaming', 'c.feedbackButtons'])
    .select(['c.isActive', 'c.state', 'c.lastError', 'c.version', 'c.createdAt', 'c.updatedAt', lastInbound.as('lastInboundAt')]);
}

const oneChannel = prepared(({ channelId, visible }: ParametersOf<{ readonly channelId: string; readonly visible: Condition }>) =>
  selectChannels(visible).where('c.id', '=', channelId),
);

function readChannelRow(ctx: Scoped, channelId: string) {
  return row(ctx.em, oneChannel({ channelId, visible: visibleToSql(ctx, Channel, 'c') }));
}

/** Returns one channel that the caller sees. Throws 404, or 403 where the caller's rank is below the floor. */
export async function readChannel(ctx: Scoped, channelId: string): Promise<ChannelRow> {
  return seen(ctx, await readChannelRow(ctx, channelId));
}

const channelList = preparedList(
  ({ kind, agentId, active, inactive, visible }: ParametersOf<ChannelFilters & { readonly visible: Condition }>) => {
    let channels = selectChannels(visible);
    if (kind) channels = channels.where('c.kind', '=', kind);
    if (agentId) channels = channels.where('c.agentId', '=', agentId);
    if (active) channels = channels.where('c.isActive', '=', sql.lit(true));
    if (inactive) channels = channels.where('c.isActive', '=', sql.lit(false));
    return channels;
  },
  [{ column: 'c.id', type: 'uuid', descending: true }],
);

/** Returns the channels that the caller sees, newest first. */
export function listChannelRows(ctx: Scoped, filters: ChannelFilters, page: PageRequest) {
  return channelList(ctx.em, { ...filters, visible: visibleTo(ctx, Channel, 'c') }, page);
}

/** Returns how many channels a workspace has. Requests count one after another, so that two at once can't both be the last. */
export async function countChannels(tx: Pick<TenantTransaction, 'em'>, workspaceId: string): Promise<number> {
  await row(tx.em, query.selectFrom('workspaces').where('id', '=', workspaceId).select('id').forNoKeyUpdate());
  const counted = await row(
    tx.em,
    query
      .selectFrom('channels')
      .where('workspaceId', '=', workspaceId)
      .where('deletedAt', 'is', null)
      .select(sql<number>`count(*)::int`.as('total')),
  );
  return counted?.total ?? 0;
}
