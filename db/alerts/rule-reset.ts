import { query } from '../query.ts';
import { change, rows } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import { emitAlert, type EmittingRule } from './emit.ts';

/**
 * Deletes the states of a locked rule's groups and resolves its open alerts as `rule_changed`, which is not sent. A tick that began before finds the rule
 * changed and leaves it alone.
 */
export async function resetRule(tx: TenantTransaction, rule: EmittingRule, at: Date): Promise<void> {
  await rows(
    tx.em,
    query.selectFrom('alert_states').where('ruleId', '=', rule.id).select('fingerprint').orderBy('fingerprint').forUpdate(),
  );
  const open = await rows(
    tx.em,
    query.selectFrom('alerts').where('ruleId', '=', rule.id).where('resolvedAt', 'is', null).select('id').orderBy('id'),
  );
  for (const { id: alertId } of open) await emitAlert(tx, rule, { event: 'resolved', alertId, resolution: 'rule_changed' }, at);
  await change(tx.em, query.deleteFrom('alert_states').where('ruleId', '=', rule.id));
}
