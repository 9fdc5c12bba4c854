import { readMaintainedBase, readPolicy } from '../../db/knowledge/bases/maintained-base.ts';
import { startByPolicy } from '../../domain/knowledge/upkeep/policy-run.ts';
import { planPolicy } from '../../ports/schedule/policy-times.ts';
import type { Temporal } from '../../temporal/client.ts';
import { removePolicySchedule, upsertPolicySchedule } from '../../temporal/policy-schedules.ts';
import type { PolicyActivities } from '../../workflows/contracts/knowledge/runs.ts';
import type { ActivityDeps } from '../deps.ts';
import { readAsSystem, transactAsSystem } from '../support/as-system.ts';
import { tenantOfActivity } from '../support/tenant.ts';

/** Activities of maintenance policies, in the signed tenant of their workflow; both decide by rows and may be repeated on any worker. */
export function createPolicyActivities(deps: ActivityDeps, temporal: Temporal): PolicyActivities {
  return {
    async syncPolicy({ kbId }) {
      const base = await readAsSystem(deps, (tx) => readMaintainedBase(tx, kbId));
      const policy = await readAsSystem(deps, (tx) => readPolicy(tx, kbId));
      const plan = base === null ? null : planPolicy(policy, deps.db.clock.now());
      if (plan === null) await removePolicySchedule(temporal, kbId);
      else await upsertPolicySchedule(temporal, { kbId, compiled: plan.compiled }, tenantOfActivity());
      return (await readAsSystem(deps, (tx) => readPolicy(tx, kbId))).version === policy.version;
    },
    async startPolicyRun({ kbId, occasion }) {
      const outcome = await transactAsSystem(deps, (tx) =>
        startByPolicy(tx, { kbId, occasion, currency: deps.env.billingCurrency, now: deps.db.clock.now() }),
      );
      if (outcome === 'gone') await removePolicySchedule(temporal, kbId);
      deps.log.info({ kb_id: kbId, outcome }, 'maintenance by policy');
    },
  };
}
