import { cancellationSignal } from '@temporalio/activity';
import type { Logger } from 'pino';
import type { KeyRing } from '../../db/key-ring.ts';
import { sweepLoginFailures } from '../../domain/identity/factors/login-failure-retention.ts';
import { rotateSigningKeys } from '../../domain/identity/keys/signing-key-rotation.ts';
import { identityUpkeep } from '../../domain/identity/sessions/upkeep.ts';
import type { Databases } from '../../db/databases.ts';
import { sweep } from '../../db/transaction.ts';
import type { MaintenanceActivities } from '../../workflows/contracts/upkeep/maintenance.ts';
import type { ActivityDeps } from '../deps.ts';
import { sweepSubjects } from '../knowledge/sweep-subjects.ts';
import { sweepAll } from './sweep-all.ts';

export interface IdentityUpkeepDeps extends Pick<ActivityDeps, 'dispatch' | 'env'> {
  readonly db: Databases;
  readonly keys: KeyRing;
  readonly log: Logger;
}

/** Maintenance of identity: deletes expired rows and those about deleted persons; rotates the signing keys. */
export function createIdentityActivities(deps: IdentityUpkeepDeps): Pick<MaintenanceActivities, 'sweepIdentity' | 'turnSigningKeys'> {
  const { db, keys, log } = deps;
  return {
    async sweepIdentity() {
      let deleted = await sweepLoginFailures(db, cancellationSignal());

      for (const { what, deleteSome } of identityUpkeep)
        deleted += await sweepAll(log, { what, deleteSome: (limit) => sweep(db, (em) => deleteSome(em, limit)) });
      return deleted + (await sweepSubjects(deps));
    },
    async turnSigningKeys() {
      const turn = await rotateSigningKeys(db, keys);

      if (turn !== 'none') log.info({ turn }, 'signing keys turned');
      return turn;
    },
  };
}
