import { readBase } from '../../db/knowledge/bases/bases.ts';
import { readPolicy } from '../../db/knowledge/bases/maintained-base.ts';
import { putPolicy } from '../../domain/knowledge/bases/policies.ts';
import { seeBase } from '../../domain/knowledge/bases/see-base.ts';
import { planPolicy, type PolicyTimes } from '../../ports/schedule/policy-times.ts';
import { ScheduleProblem } from '../../ports/schedule/plan.ts';
import { invalid } from '../../workflows/contracts/failure.ts';
import { changesOf } from '../http/operation/changes.ts';
import { get, put, reply, type Ctx } from '../http/operation/operation.ts';
import { MaintenancePolicyPut, MaintenancePolicyView, PolicyParams, toMaintenancePolicyView, toPolicyFields } from './policy.schema.ts';

const logged = [
  'schedule',
  'timezone',
  'tasks',
  'duplicate_threshold',
  'auto_merge',
  'stale_after_days',
  'retention_days',
  'max_pause_hours',
  'judge_model',
] as const;

/** How a base is maintained. */
export const policyOperations = {
  getMaintenancePolicy: get(
    '/knowledge-bases/{kb_id}/maintenance-policy',
    {
      summary: 'Read a maintenance policy',
      description:
        'Returns how a base is maintained; the defaults, with ETag "0", if no policy has been set. For a private base, only its managers can read it.',
      access: 'member',
      etag: true,
      params: PolicyParams,
      view: MaintenancePolicyView,
    },
    async (ctx, { params }) => {
      const base = await readBase(ctx, params.kb_id);
      if (base.isPrivate) await seeBase(ctx, base.id, 'manage');
      const policy = await readPolicy(ctx, base.id);
      return reply(toMaintenancePolicyView(policy), { version: policy.version });
    },
  ),

  putMaintenancePolicy: put(
    '/knowledge-bases/{kb_id}/maintenance-policy',
    {
      summary: 'Set a maintenance policy',
      description:
        'Replaces the complete policy of a base; omitted fields take their defaults. With a schedule, its tasks run automatically in the given time zone; an occurrence is skipped while the previous run is still working. contradictions and consolidate require a judge_model.',
      access: 'admin',
      fails: ['not_found'],
      audit: 'update',
      etag: true,
      success: [200],
      params: PolicyParams,
      body: MaintenancePolicyPut,
      view: MaintenancePolicyView,
      example: { body: { schedule: '0 3 * * 1', timezone: 'Europe/Berlin', tasks: ['verify', 'dedupe', 'decay'], stale_after_days: 365 } },
    },
    async (ctx, { params, body }) => {
      const fields = toPolicyFields(body);
      refuseTimes(fields, ctx.deps.now());
      const { base, before, after } = await putPolicy(ctx, params.kb_id, {
        fields,
        isJudge: isJudgeIn(ctx),
      });
      const view = toMaintenancePolicyView(after);
      const changes = changesOf(toMaintenancePolicyView(before), view, logged);
      ctx.audit({
        resourceType: 'knowledge_policy',
        resourceId: base.id,
        organizationId: base.organizationId,
        workspaceId: base.workspaceId,
        changes,
      });
      return reply(view, { version: after.version });
    },
  ),
};

/** A model of the registry that answers questions; the builtin one quotes its prompt. */
function isJudgeIn({ deps }: Ctx): (id: string) => boolean {
  return (id) => {
    const model = deps.models.resolve(id);
    return model !== null && model.adapter !== 'builtin';
  };
}

/** Throws 422 for a schedule or a time zone that can not be read. */
function refuseTimes(times: PolicyTimes, now: Date): void {
  try {
    planPolicy(times, now);
  } catch (error) {
    if (!(error instanceof ScheduleProblem)) throw error;
    throw invalid(error.field === 'timezone' ? '/timezone' : '/schedule', error.rule, error.message, { ...error.params });
  }
}
