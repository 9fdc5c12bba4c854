import { Decimal } from 'decimal.js';
import { formats } from '../api/http/input/formats.ts';
import { readAdjustedPlace } from '../db/billing/ledger/adjusted-place.ts';
import { money } from '../db/money.ts';
import { newId } from '../db/ids.ts';
import { sweep, systemActor, transact, workspaceTenant } from '../db/transaction.ts';
import { adjustUsage, type AdjustmentDifference } from '../domain/billing/adjust-usage.ts';
import { rollBudgetWindows } from '../domain/billing/upkeep.ts';
import { rebuildUsage } from '../domain/billing/rebuild-usage.ts';
import { withDeployment } from './attach.ts';
import { billingCurrencyOf, type CliEnv } from './env.ts';
import { SetupError } from './setup-error.ts';

interface Command {
  readonly env: CliEnv;
  readonly log: (line: string) => void;
}

/** The arguments of `usage adjust`, as typed. */
interface AskedValues {
  readonly workspace?: string;
  readonly run?: string;
  readonly amount?: string;
  readonly key?: string;
  readonly at?: string;
  readonly reason?: string;
}

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const signedAmount = /^-?(?:0|[1-9][0-9]{0,10})(?:\.[0-9]{1,9})?$/;
const keyForm = /^[\x21-\x7e]{1,100}$/;

/**
 * `longhaul usage adjust`: adds an adjustment to the ledger, once per key.
 * @throws SetupError for an invalid adjustment, and for a key that has made a different one.
 */
export async function usageAdjust({ env, log, asked }: Command & { readonly asked: AskedValues }): Promise<void> {
  const { workspaceId, runId, cost, key, at, reason } = checked(asked);
  await withDeployment({ env, log }, async ({ db, variables }) => {
    const place = await sweep(db, (em) => readAdjustedPlace({ em }, { workspaceId, runId }));
    if (!place) throw new SetupError('There is no such workspace, or the run is not in it.');
    const currency = billingCurrencyOf(variables);
    const options = { tenant: workspaceTenant(place.organizationId, workspaceId), actor: systemActor, correlationId: newId() };

    // Ensures that the current budget window exists.
    await transact(db, options, (tx) => rollBudgetWindows(tx.em, workspaceId));
    const { value } = await transact(db, options, (tx) => adjustUsage(tx, place, { key, cost, currency, at, reason }));
    if (value.kind === 'other')
      throw new SetupError(`The key ${key} has already made a different correction, ${differenceOf(value.difference)}. Take a new key.`);
    log(
      `${value.kind === 'made' ? 'Corrected' : 'The key has already made this correction'}: ${money(cost)} ${currency} at ${value.at.toISOString()}, record ${value.id}.`,
    );
  });
}

/** `longhaul usage rebuild`: rebuilds the rollups of usage from the ledger. Can be stopped at any point and repeated. */
export async function usageRebuild({ env, log }: Command): Promise<void> {
  await withDeployment({ env, log }, async ({ db }) => {
    const { workspaces, days, mended } = await rebuildUsage(db);
    log(`${days} days of ${workspaces} workspaces compared with the ledger, ${mended} sums corrected.`);
  });
}

/** Describes how the earlier adjustment differs. */
function differenceOf({ amount, run, at }: AdjustmentDifference): string {
  const parts = [
    ...(amount === null ? [] : [`of ${amount}`]),
    ...(run === null ? [] : [run === 'none' ? 'for no run' : `for the run ${run}`]),
    ...(at === null ? [] : [`at ${at.toISOString()}`]),
  ];
  return parts.join(', ');
}

function checked({ workspace, run, amount, key, at, reason }: AskedValues) {
  const [workspaceId, runId] = [workspace?.toLowerCase() ?? '', run?.toLowerCase() ?? null];
  if (!uuid.test(workspaceId)) throw new SetupError('--workspace must be the id of a workspace.');
  if (runId !== null && !uuid.test(runId)) throw new SetupError('--run must be the id of a run.');
  if (amount === undefined || !signedAmount.test(amount) || new Decimal(amount).isZero())
    throw new SetupError('--amount must be a decimal other than 0, with at most 11 digits before the point and 9 after it: --amount=-1.25');
  if (key === undefined || !keyForm.test(key))
    throw new SetupError('--key must have up to 100 characters without spaces; the same key makes a correction only once.');
  if (at !== undefined && !(formats['date-time'](at) && Date.parse(at) <= Date.now()))
    throw new SetupError('--at must be a past time with its zone: 2026-01-31T10:15:00Z');
  return {
    workspaceId,
    runId,
    cost: amount,
    key,
    at: at === undefined ? null : new Date(at),
    reason: reason?.slice(0, 500).toWellFormed() ?? null,
  };
}
