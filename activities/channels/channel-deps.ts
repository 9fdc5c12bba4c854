import { channelMessageBinding } from '../../db/encrypted-columns.ts';
import type { AnsweredMessage } from '../../db/channels/answered.ts';
import { openChannel, type OpenedChannel } from '../../db/channels/open-channel.ts';
import { readEgressAllowlist } from '../../db/tenancy/organizations/egress-policy.ts';
import { decrypt } from '../../db/envelope.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import type { ServiceDeps } from '../../ports/channels/service.ts';
import { deadlineIn } from '../../ports/deadline.ts';
import type { EgressPolicy } from '../../ports/egress/egress.ts';
import type { ActivityDeps } from '../deps.ts';

/** A channel with what its calls need, read before they leave: a call holds no database connection. */
export interface ReadyChannel {
  readonly channel: OpenedChannel;
  readonly policy: EgressPolicy;
}

/** Returns null when the channel is deleted. */
export async function readyChannel(deps: ActivityDeps, tx: TenantTransaction, channelId: string): Promise<ReadyChannel | null> {
  const channel = await openChannel(tx, deps.keys, channelId);
  if (!channel) return null;
  const exceptions = await readEgressAllowlist(tx, channel.organizationId);
  return { channel, policy: { allowHttp: deps.env.allowHttp, exceptions } };
}

/** Returns the token that an answer to the message carries for its service. */
export async function tokenOf(
  deps: ActivityDeps,
  tx: TenantTransaction,
  { id, organizationId, tokenEnc }: AnsweredMessage,
): Promise<string | null> {
  return tokenEnc === null ? null : (await decrypt(tx.em, deps.keys, channelMessageBinding(organizationId, id), tokenEnc)).toString();
}

const maxCallMs = 15_000;
/** Time limit of a try that carries files; less than the timeout of its activity. */
export const maxFileMs = 30_000;

export function serviceDeps({ egress, env }: ActivityDeps, policy: EgressPolicy, maxMs = maxCallMs): ServiceDeps {
  return { egress, urls: env.channelUrls, policy, signal: deadlineIn(maxMs) };
}
