import { pino } from 'pino';
import { createAnchor } from '../activities/maintenance/anchor.ts';
import { anchorMark, checkAnchored } from '../domain/audit/anchored.ts';
import { platformChain, auditChains } from '../db/audit/chain.ts';
import { buriedOrganizations } from '../db/audit/proofs.ts';
import type { AuditFault } from '../db/audit/check-seal.ts';
import { verifyChain, type VerifiedChain } from '../domain/audit/verify.ts';
import { markAt } from '../db/http/system-status.ts';
import { sweep } from '../db/transaction.ts';
import { anchorPathOf, createAnchorFile, type AnchorFile, type AnchorRecord, type ReadAnchor } from '../ports/storage/anchor-file.ts';
import { withDeployment } from './attach.ts';
import type { Attached } from './databases.ts';
import type { CliEnv } from './env.ts';
import { SetupError } from './setup-error.ts';

interface VerifyCommand {
  readonly env: CliEnv;
  readonly log: (line: string) => void;
  /** Organization id, or `platform`; undefined: every chain. */
  readonly organization: string | undefined;
}

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
/** The maximum number of bad lines of the anchor file that are printed; further ones are only counted. */
const maxLines = 100;

/**
 * `longhaul audit verify [--organization ID]`: checks the audit log against its seals and against the anchors outside the database, and names what was
 * changed, removed or added, and where a chain is broken. Returns false (exit 1) on any fault. Then anchors the current heads.
 */
export async function auditVerify({ env, log, organization }: VerifyCommand): Promise<boolean> {
  const wanted = organization?.toLowerCase();
  if (wanted !== undefined && wanted !== platformChain && !uuid.test(wanted))
    throw new SetupError('--organization must be the id of an organization, or platform.');

  return withDeployment({ env, log }, async (attached) => {
    const { db, keys, variables } = attached;
    const file = createAnchorFile(anchorPathOf({ LONGHAUL_STATE_DIR: env['LONGHAUL_STATE_DIR'], ...variables }), keys.auditKeys);
    const known = new Map<string, string>();
    // Read before the chains, so that whatever is anchored in the meantime is in the chains too.
    const anchors = await verifyAnchors({ attached, file, log, known, wanted });
    const chains = wanted === undefined ? await sweep(db, auditChains) : [wanted];
    const buried = await sweep(db, (em) => buriedOrganizations(em, keys));
    let faults = anchors;

    for (const chain of chains) {
      if (buried.has(chain)) log(`${chain}: purged with its organization`);
      else faults += tell(log, await verifyChain(db, keys, chain));
    }
    await createAnchor({ db, file, log: pino({ level: 'silent' }), known })
      .append()
      .catch((error: unknown) =>
        log(`The anchor ${file.path} cannot be written: ${error instanceof Error ? error.message : String(error)}`),
      );
    log(faults === 0 ? `Intact chains: ${chains.length}.` : `Faults found: ${faults}.`);
    return faults === 0;
  });
}

interface AnchorsCommand extends Pick<VerifyCommand, 'log'> {
  readonly attached: Attached;
  readonly file: AnchorFile;
  readonly known: Map<string, string>;
  readonly wanted: string | undefined;
}

/** Gives the number of faults. */
async function verifyAnchors({ attached: { db, keys }, file, log, known, wanted }: AnchorsCommand): Promise<number> {
  const lines = await file.read();
  const lastAt = await sweep(db, (em) => markAt(em, anchorMark));
  if (lines === null && lastAt === null) {
    log(`anchor ${file.path}: does not exist yet and will be created now`);
    return 0;
  }
  const totals = { lines: 0, newest: 'never', faults: 0 };
  const anchored = lines === null ? [] : await checkAnchored(db, keys, goodLines(lines, { log, totals, known, wanted }));
  if (totals.lines === 0 && totals.faults === 0 && lastAt !== null) {
    const state = lines === null ? 'missing' : 'empty';
    log(
      `anchor ${file.path}: ${state}, although heads were anchored last at ${new Date(lastAt).toISOString()}; AUDIT_ANCHOR_FILE names the file`,
    );
    return 1;
  }

  log(`anchor ${file.path}: ${totals.lines} lines, the newest of ${totals.newest}`);
  for (const fault of anchored) log(`  ${fault.chain}: ${textOf(fault)}`);
  return totals.faults + anchored.length;
}

interface AnchorTotals {
  lines: number;
  newest: string;
  faults: number;
}

/** Yields the lines that are ours and belong to the wanted chain; reports the others. */
async function* goodLines(
  lines: AsyncIterable<ReadAnchor>,
  { log, totals, known, wanted }: Pick<AnchorsCommand, 'log' | 'known' | 'wanted'> & { readonly totals: AnchorTotals },
): AsyncGenerator<AnchorRecord> {
  for await (const { number, line, fault } of lines) {
    if (fault !== null && ++totals.faults <= maxLines) log(`  anchor line ${number}: ${fault}`);
    if (line === null) continue;
    totals.lines += 1;
    totals.newest = line.at;
    known.set(line.chain, line.mac);
    if (wanted === undefined || line.chain === wanted) yield line;
  }
}

/** Gives the number of faults. */
function tell(log: (line: string) => void, verified: VerifiedChain): number {
  log(summaryOf(verified));
  for (const fault of verified.faults) log(`  ${textOf(fault)}`);
  if (verified.isTruncated) log('  … and more.');
  return verified.faults.length;
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
