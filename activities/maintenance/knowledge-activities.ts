import type { Logger } from 'pino';
import type { Databases } from '../../db/databases.ts';
import { sweep } from '../../db/transaction.ts';
import { dropUnusedEmbeddings } from '../../domain/knowledge/items/embed-texts.ts';
import type { MaintenanceActivities } from '../../workflows/contracts/upkeep/maintenance.ts';
import { sweepAll } from './sweep-all.ts';

/** Maintenance of knowledge across all tenants. */
export function createKnowledgeUpkeep({
  db,
  log,
}: {
  readonly db: Databases;
  readonly log: Logger;
}): Pick<MaintenanceActivities, 'sweepEmbeddings'> {
  return {
    sweepEmbeddings: () =>
      sweepAll(log, { what: 'embedding cache', deleteSome: (limit) => sweep(db, (em) => dropUnusedEmbeddings(em, limit)) }),
  };
}
