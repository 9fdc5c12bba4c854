import { Failure, fail } from '../../../workflows/contracts/failure.ts';
import { rejectsUnpriced } from '../../../db/billing/prices/prices.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import type { StartRun } from '../../../db/runs/start/start-run.ts';
import { type StartTarget, readPricedModels } from '../../../db/runs/start/start-target.ts';

/**
 * Returns the targets of starts, with a Failure (422 `unpriced_model`) where the run would only fail with it later. Sends one query, or none when nothing
 * rejects unpriced models.
 */
export async function refuseUnpriced(
  tx: TenantTransaction,
  starts: readonly StartRun[],
  targets: readonly (StartTarget | Failure)[],
): Promise<readonly (StartTarget | Failure)[]> {
  const models = targets.map((target, n) => judgedModel(starts[n], target));
  const ids = [...new Set(models.filter((id) => id !== null))];
  if (ids.length === 0) return targets;

  const known = await readPricedModels(tx, ids, starts[0]?.currency ?? '');
  return targets.map((target, n) => {
    const model = models[n] ?? null;
    return model === null || known.has(model) ? target : unpriced(model);
  });
}

/** The model that needs a price, or null when none does. */
function judgedModel(start: StartRun | undefined, target: StartTarget | Failure): string | null {
  if (!start?.pricing || start.parent || target instanceof Failure) return null;
  if (!rejectsUnpriced(start.pricing.unpriced, target.spending.is_enforced)) return null;
  const model = start.pricing.modelOf(target.model);
  return model === null || model.isFree ? null : model.id;
}

function unpriced(model: string): Failure {
  const message = `The model ${model} has no price, and an enforced budget does not allow calls without one. An operator can import a price or set UNPRICED_MODEL=zero_with_alert.`;
  return fail('validation_failed', {
    reason: 'unpriced_model',
    detail: message,
    errors: [{ in: 'body', pointer: '', name: null, rule: 'unpriced_model', message, params: { kind: 'model', slug: model } }],
  });
}
