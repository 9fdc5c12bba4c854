import { recordRefused, recordSynced } from '../../domain/channels/state.ts';
import { Refused } from '../../ports/channels/service.ts';
import { serviceOf } from '../../ports/channels/services.ts';
import { EgressRefused } from '../../ports/egress/egress.ts';
import type { ChannelSyncInput } from '../../workflows/contracts/triggers/channels.ts';
import type { ActivityDeps } from '../deps.ts';
import { readAsSystem, transactAsSystem } from '../support/as-system.ts';
import { readyChannel, serviceDeps } from './channel-deps.ts';

/** Registers the channel with its service as the newest row says. A refusal is stored as the channel's state, and retried with the next change. */
export async function syncChannel(deps: ActivityDeps, { channelId: id }: ChannelSyncInput): Promise<boolean> {
  const ready = await readAsSystem(deps, (tx) => readyChannel(deps, tx, id));
  const register = ready && serviceOf(ready.channel.kind).register;
  if (!ready || !register || !ready.channel.isActive || ready.channel.syncedVersion >= ready.channel.version) return true;
  const { channel, policy } = ready;
  const { version } = channel;
  if (deps.env.publicUrl === null) {
    await transactAsSystem(deps, (tx) => recordRefused(tx, { id, version, error: 'PUBLIC_URL is not set for the workers' }));
    return true;
  }
  try {
    const identity = await register(serviceDeps(deps, policy), channel, `${deps.env.publicUrl}/channels/${id}/inbound`);
    return await transactAsSystem(deps, (tx) => recordSynced(tx, { id, version, identity }));
  } catch (error) {
    if (!(error instanceof Refused) && !(error instanceof EgressRefused)) throw error;
    await transactAsSystem(deps, (tx) => recordRefused(tx, { id, version, error: error.message }));
    deps.log.warn({ channel_id: id, kind: channel.kind }, 'channel not registered');
    return true;
  }
}
