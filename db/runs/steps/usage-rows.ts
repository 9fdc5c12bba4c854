import { now } from '../../expressions.ts';
import { jsonb, jsonText, recordset, type JsonText } from '../../json-text.ts';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { queueStatement } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import type { UsageTotals } from '../../billing/ledger/usage.ts';

interface RunUsage {
  readonly runId: string;
  readonly own: JsonText<UsageTotals>;
  readonly subtree: JsonText<UsageTotals>;
}

const usageOfRun = prepared(({ runId, own, subtree }: ParametersOf<RunUsage>) =>
  query
    .updateTable('runs')
    .set({ usageOwn: jsonb(own), usageSubtree: jsonb(subtree), updatedAt: now })
    .where('id', '=', runId),
);

/** Writes what a run has cost so far, alone and with all runs below it. Goes with the next statement. */
export async function writeUsage(
  tx: TenantTransaction,
  runId: string,
  { own, subtree }: { readonly own: UsageTotals; readonly subtree: UsageTotals },
): Promise<void> {
  await queueStatement(tx.em, usageOfRun({ runId, own: jsonText(own), subtree: jsonText(subtree) }));
}

interface Subtree {
  readonly id: string;
  readonly subtree: UsageTotals;
}

const usageOfSubtrees = prepared(({ runs }: ParametersOf<{ readonly runs: JsonText<readonly Subtree[]> }>) =>
  query
    .updateTable('runs')
    .from(recordset(runs, 'n', { id: 'uuid', subtree: 'jsonb' }))
    .set(({ ref }) => ({ usageSubtree: ref('n.subtree'), updatedAt: now }))
    .whereRef('runs.id', '=', 'n.id'),
);

/** Writes what runs have cost with all runs below them. Goes with the next statement; sends none when there are no runs. */
export async function writeSubtrees(tx: TenantTransaction, runs: readonly Subtree[]): Promise<void> {
  if (runs.length === 0) return;
  await queueStatement(tx.em, usageOfSubtrees({ runs: jsonText(runs) }));
}

const usageOfStep = prepared(({ runId, step, usage }: ParametersOf<{ runId: string; step: number; usage: JsonText<UsageTotals> }>) =>
  query
    .updateTable('run_steps')
    .set({ usage: jsonb(usage) })
    .where('runId', '=', runId)
    .where('step', '=', step)
    .where('toolCallId', 'is', null),
);

/** Writes what a model step has cost. Goes with the next statement. */
export async function writeStepUsage(
  tx: TenantTransaction,
  { runId, step }: { readonly runId: string; readonly step: number },
  usage: UsageTotals,
): Promise<void> {
  await queueStatement(tx.em, usageOfStep({ runId, step, usage: jsonText(usage) }));
}
