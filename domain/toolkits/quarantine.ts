import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import { failSyncing, quarantineTools, toolsInForce } from '../../db/toolkits/revisions.ts';

/**
 * Takes every tool of a toolkit out of service until an activation approves it anew: its server or its credentials are others now. What a
 * sync that is under way brings home is the former server's and counts no more. The caller holds the toolkit's lock.
 */
export async function quarantineAll(tx: TenantTransaction, toolkitId: string): Promise<void> {
  await failSyncing(tx, toolkitId, { error: 'The address or the credentials of the toolkit changed during the sync.' });
  const names = (await toolsInForce(tx, toolkitId)).map((tool) => tool.name);
  await quarantineTools(tx, toolkitId, names);
}
