import { platformChain } from '../db/audit/chain.ts';
import { auditChains, verifyChain, type AuditFault, type VerifiedChain } from '../db/audit/verify.ts';
import { sweep } from '../db/transaction.ts';
import { withDeployment } from './attach.ts';
import type { CliEnv } from './env.ts';
import { SetupError } from './setup-error.ts';

interface VerifyCommand {
  readonly env: CliEnv;
  readonly log: (line: string) => void;
  /** Organization id, or `platform`; undefined: every chain. */
  readonly organization: string | undefined;
}

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * `longhaul audit verify [--organization ID]`: holds the audit log against its seals and names what was changed, taken away or added, and
 * where the chain is broken. False (exit 1) on any.
 */
export async function auditVerify({ env, log, organization }: VerifyCommand): Promise<boolean> {
  const wanted = organization?.toLowerCase();
  if (wanted !== undefined && wanted !== platformChain && !uuid.test(wanted))
    throw new SetupError('--organization wants the id of an organization, or platform.');

  return withDeployment({ env, log }, async ({ db, keys }) => {
    const chains = wanted === undefined ? await sweep(db, auditChains) : [wanted];
    let faults = 0;

    for (const chain of chains) {
      const verified = await verifyChain(db, keys, chain);
      log(summaryOf(verified));
      for (const fault of verified.faults) log(`  ${textOf(fault)}`);
      if (verified.isCut) log('  … and more.');
      faults += verified.faults.length;
    }
    log(faults === 0 ? `${chains.length} chains are as they were sealed.` : `${faults} faults found.`);
    return faults === 0;
  });
}

function summaryOf({ chain, seals, entries, head }: VerifiedChain): string {
  return `${chain}: ${seals} seals, ${entries} entries${head === null ? '' : `, head ${head}`}`;
}

function textOf({ kind, sealNo, seq, entryId, message }: AuditFault): string {
  const place = [
    sealNo === null ? null : `seal ${sealNo}`,
    seq === null ? null : `number ${seq}`,
    entryId === null ? null : `entry ${entryId}`,
  ].filter((part) => part !== null);
  return `${kind}: ${place.join(', ')}: ${message}`;
}
