import type { ChannelIdentity, ChannelKind, ChannelSettings } from '../../workflows/contracts/triggers/channels.ts';
import type { Databases } from '../databases.ts';
import { callDefinerFunction } from '../identity/lookup/credential-lookup.ts';
import type { KeyRing } from '../key-ring.ts';
import { prepared, type ParametersOf } from '../prepared.ts';
import { query } from '../query.ts';
import { row } from '../sql.ts';
import { decrypt, decryptWith, type FoundDataKey } from '../envelope.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import { channelBinding } from '../encrypted-columns.ts';
import type { Channel } from './channel.entity.ts';

export type ChannelSecrets = Readonly<Record<string, string>>;

/** An active channel as a message finds it by its address. */
export interface FoundChannel {
  readonly id: string;
  readonly organizationId: string;
  readonly workspaceId: string;
  readonly agentId: string;
  readonly kind: ChannelKind;
  readonly settings: ChannelSettings;
  /** Hex of the encrypted secrets and of their data key. */
  readonly secretsEnc: string | null;
  readonly dataKey: FoundDataKey | null;
  readonly personaSlug: string | null;
  readonly onBusy: Channel['onBusy'];
  readonly sessionScope: Channel['sessionScope'];
  readonly replyTo: Channel['replyTo'];
  readonly allowedSenders: readonly string[];
  readonly allowedBots: readonly string[];
  readonly feedbackButtons: boolean;
  readonly identity: ChannelIdentity | null;
  /** The database's clock. */
  readonly nowMs: number;
}

/** Returns the channel of an address, or null when there is none that takes messages now. One query, before any tenant is known. */
export function findChannel(db: Databases, channelId: string): Promise<FoundChannel | null> {
  return callDefinerFunction<FoundChannel>(db, 'gate_channel($1)', [channelId]);
}

/** Returns the secrets of a channel that was looked up by its address. */
export function secretsOfFound({ id, organizationId, secretsEnc, dataKey }: FoundChannel, keys: Pick<KeyRing, 'keks'>): ChannelSecrets {
  if (secretsEnc === null || dataKey === null) return {};
  return channelSecretsIn(decryptWith(dataKey, keys, channelBinding(organizationId, id), Buffer.from(secretsEnc, 'hex')));
}

/** Returns the secrets of a decrypted envelope, by name. */
export function channelSecretsIn(opened: Buffer): ChannelSecrets {
  const secrets: unknown = JSON.parse(opened.toString());
  if (typeof secrets !== 'object' || secrets === null) return {};
  return Object.fromEntries(Object.entries(secrets).filter((entry): entry is [string, string] => typeof entry[1] === 'string'));
}

/** A channel as an activity uses it. */
export type OpenedChannel = NonNullable<Awaited<ReturnType<typeof openChannel>>>;

const liveChannel = prepared(({ channelId }: ParametersOf<{ readonly channelId: string }>) =>
  query
    .selectFrom('channels')
    .where('id', '=', channelId)
    .where('deletedAt', 'is', null)
    .select(['id', 'organizationId', 'workspaceId', 'kind', 'settings', 'secretsEnc', 'streaming'])
    .select(['feedbackButtons', 'isActive', 'version', 'syncedVersion']),
);

/** Returns a channel of the transaction's tenant with its secrets, or null once it is deleted. */
export async function openChannel(tx: Pick<TenantTransaction, 'em'>, keys: Pick<KeyRing, 'keks'>, channelId: string) {
  const found = await row(tx.em, liveChannel({ channelId }));
  if (!found) return null;
  const { secretsEnc, ...channel } = found;
  const binding = channelBinding(channel.organizationId, channel.id);
  const secrets: ChannelSecrets = secretsEnc === null ? {} : channelSecretsIn(await decrypt(tx.em, keys, binding, secretsEnc));
  return { ...channel, secrets };
}
