import { randomBytes } from 'node:crypto';
import { channelBinding } from '../../db/encrypted-columns.ts';
import { Channel } from '../../db/channels/channel.entity.ts';
import { countChannels } from '../../db/channels/channels.ts';
import { channelSecretsIn, type ChannelSecrets } from '../../db/channels/open-channel.ts';
import { failOpenParts } from '../../db/channels/outbound.ts';
import { syncChannel } from '../../db/channels/sync.ts';
import type { KeyRing } from '../../db/key-ring.ts';
import { newId } from '../../db/ids.ts';
import { decrypt, encrypt } from '../../db/envelope.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import { runsInWorkspace } from '../../db/agents/agents.ts';
import type { EgressPolicy } from '../../ports/egress/url.ts';
import type { ChannelKind } from '../../workflows/contracts/triggers/channels.ts';
import { fail, invalid } from '../../workflows/contracts/failure.ts';
import { changedSecrets, checkedSettings, madeSecret } from './channel-rules.ts';

/** The most channels of a workspace. */
export const maxChannels = 50;

/** What the rules of channels need from the deployment. */
export interface ChannelDeps {
  readonly keys: Pick<KeyRing, 'keks'>;
  /** Where answers of the organization may go. */
  readonly policy: EgressPolicy;
}

/** The settings of a channel common to all kinds. */
export type ChannelFields = Pick<
  Channel,
  | 'agentId'
  | 'name'
  | 'personaSlug'
  | 'onBusy'
  | 'sessionScope'
  | 'replyTo'
  | 'allowedSenders'
  | 'allowedBots'
  | 'streaming'
  | 'feedbackButtons'
  | 'isActive'
>;

type Settings = Readonly<Record<string, unknown>>;

/** The values of a new channel. */
export interface NewChannel extends ChannelFields {
  readonly organizationId: string;
  readonly workspaceId: string;
  readonly kind: ChannelKind;
  readonly settings: Settings;
  readonly secrets: Readonly<Record<string, string | null>>;
}

/**
 * Creates a channel and returns its id. Throws 422 for settings and secrets that its kind does not have or that are missing, and an agent that does not run
 * there; 409 `limit_reached` in a workspace that has 50.
 */
export async function makeChannel(
  tx: TenantTransaction,
  deps: ChannelDeps,
  { settings, secrets: given, ...made }: NewChannel,
): Promise<string> {
  const { kind } = made;
  const checked = checkedSettings(kind, settings, deps.policy);
  const secrets = changedSecrets(kind, {}, given);
  await refuseAgent(tx, made);
  if ((await countChannels(tx, made.workspaceId)) >= maxChannels)
    throw fail('state_conflict', { reason: 'limit_reached', detail: `A workspace can have at most ${maxChannels} channels.` });

  const id = newId();
  if (kind === 'telegram') secrets[madeSecret] = randomBytes(32).toString('base64url');
  const secretsEnc = await sealSecrets(tx, deps, { id, organizationId: made.organizationId }, secrets);
  const channel = tx.em.create(Channel, {
    id,
    ...made,
    settings: checked,
    secretsEnc,
    secretNames: Object.keys(secrets).toSorted(),
    state: 'pending',
    lastError: null,
    identity: null,
    syncedVersion: 0,
    deletedAt: null,
  });
  await tx.em.flush();
  await syncChannel(tx, channel);
  return id;
}

/** The changes of a channel; an omitted field stays as it is. */
export interface ChannelChange extends Partial<ChannelFields> {
  readonly settings?: Settings;
  readonly secrets?: Readonly<Record<string, string | null>>;
}

/** Changes a locked channel. Throws 422 as `makeChannel` does. */
export async function changeChannel(
  tx: TenantTransaction,
  deps: ChannelDeps,
  { channel, change }: { readonly channel: Channel; readonly change: ChannelChange },
): Promise<void> {
  const { settings, secrets, ...fields } = change;
  if (settings !== undefined) channel.settings = checkedSettings(channel.kind, settings, deps.policy);
  if (secrets !== undefined) {
    const next = changedSecrets(channel.kind, await secretsOf(tx, deps, channel), secrets);
    channel.secretsEnc = await sealSecrets(tx, deps, channel, next);
    channel.secretNames = Object.keys(next).toSorted();
  }
  if (fields.agentId !== undefined && fields.agentId !== channel.agentId) await refuseAgent(tx, { ...channel, agentId: fields.agentId });
  Object.assign(channel, fields);
  // The state found with the old settings does not apply to the new ones.
  if (settings !== undefined || secrets !== undefined) Object.assign(channel, { state: 'pending', lastError: null });
  await tx.em.flush();
  await syncChannel(tx, channel);
}

/** Deletes a locked channel as of `at`: it accepts nothing after the commit, unsent parts end, and its secrets are erased. */
export async function deleteChannel(tx: TenantTransaction, channel: Channel, at: Date): Promise<void> {
  channel.deletedAt = at;
  channel.secretsEnc = null;
  channel.secretNames = [];
  await tx.em.flush();
  await failOpenParts(tx, channel.id, 'the channel was deleted');
}

async function refuseAgent(
  tx: TenantTransaction,
  { agentId, organizationId, workspaceId }: { readonly agentId: string; readonly organizationId: string; readonly workspaceId: string },
): Promise<void> {
  if (await runsInWorkspace(tx, agentId, { organizationId, workspaceId })) return;
  throw invalid('/agent_id', 'reference', 'The agent does not exist in this workspace.', { kind: 'agent' });
}

async function secretsOf(
  tx: TenantTransaction,
  { keys }: ChannelDeps,
  { id, organizationId, secretsEnc }: Channel,
): Promise<ChannelSecrets> {
  return secretsEnc === null ? {} : channelSecretsIn(await decrypt(tx.em, keys, channelBinding(organizationId, id), secretsEnc));
}

function sealSecrets(
  tx: TenantTransaction,
  { keys }: Pick<ChannelDeps, 'keys'>,
  { id, organizationId }: { readonly id: string; readonly organizationId: string },
  secrets: ChannelSecrets,
): Promise<Buffer> {
  return encrypt(tx.em, keys, channelBinding(organizationId, id), Buffer.from(JSON.stringify(secrets)));
}
