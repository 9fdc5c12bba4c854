import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { writeSystemEntry } from './system-entry.ts';

/** Resource type of the log itself. */
export const logResource = 'audit_log';

interface Purged {
  readonly organizationId: string | null;
  readonly resourceType: string;
  readonly counts: Readonly<Record<string, number | string>>;
}

/** Writes the `purge` entry of what retention took from an organization; null is the platform. In the transaction that takes it. Gives its id. */
export async function writePurgeEntry(em: SqlEntityManager, { organizationId, resourceType, counts }: Purged): Promise<string> {
  const changes = Object.fromEntries(Object.entries(counts).map(([name, count]) => [name, { from: null, to: count }]));
  const note = { resourceType, resourceId: organizationId, organizationId, changes };

  return writeSystemEntry(em, { action: 'purge', note });
}
