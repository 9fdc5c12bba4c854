import { AlertRule } from '../../db/alerts/alert-rule.entity.ts';
import { listRuleRows, readRule, type AlertRuleRow } from '../../db/alerts/rules.ts';
import { forgetReplies } from '../../domain/http/idempotency.ts';
import { resolveNewRowScope } from '../../db/new-row-scope.ts';
import { mapPage } from '../../db/page.ts';
import { findAgentPlace } from '../../db/agents/agents.ts';
import { seeForChange } from '../../db/scope.ts';
import { readEgressAllowlist } from '../../db/tenancy/organizations/egress-policy.ts';
import { changeRule, deleteRule, makeRule, type RuleFields } from '../../domain/alerts/rules.ts';
import { refuseTargets } from '../../domain/alerts/targets.ts';
import { startTest } from '../../domain/alerts/tests.ts';
import { invalid } from '../../workflows/contracts/failure.ts';
import { changesOf } from '../http/operation/changes.ts';
import { get, list, patch, post, remove, reply, type AuditNote, type Ctx } from '../http/operation/operation.ts';
import {
  AlertRuleCreate,
  AlertRuleFilters,
  AlertRuleParams,
  AlertRuleUpdate,
  AlertRuleView,
  toAlertRuleView,
  toRuleFields,
} from './alert-rule.schema.ts';
import { AlertTestView, toAlertTestView } from './alert.schema.ts';
import { waitForTest } from './wait-for-test.ts';

const location = (view: { readonly id: string }) => `/alert-rules/${view.id}`;
const resourceType = 'alert_rule';

export const alertRuleOperations = {
  listAlertRules: list(
    '/alert-rules',
    {
      summary: 'List alert rules',
      description: 'Rules that the caller can see, newest first, including those of budgets. q searches the name.',
      access: 'viewer',
      paging: 'keyset',
      query: AlertRuleFilters,
      view: AlertRuleView,
    },
    async (ctx, { query: { q, kind, workspace_id: workspaceId, is_active: isActive, managed } }) => {
      const filters = {
        q,
        kind,
        workspaceId,
        active: isActive === true ? (true as const) : undefined,
        paused: isActive === false ? (true as const) : undefined,
        managed: managed === true ? (true as const) : undefined,
        unmanaged: managed === false ? (true as const) : undefined,
      };
      return mapPage(await listRuleRows(ctx, filters, ctx.page), toAlertRuleView);
    },
  ),

  createAlertRule: post(
    '/alert-rules',
    {
      summary: 'Create an alert rule',
      description:
        'Measures every minute and opens an alert when a value breaches the threshold. Targets are notified when the alert opens, becomes critical, at each repeat interval, and when it ends. At most 200 rules per organization.',
      access: 'admin',
      fails: ['not_found', 'state_conflict'],
      audit: 'create',
      idempotent: true,
      resourceType,
      location,
      body: AlertRuleCreate,
      view: AlertRuleView,
      example: {
        body: { name: 'Spend of an hour', kind: 'spend', operator: 'gt', threshold: '25', warning_threshold: '15', window_s: 3_600 },
      },
    },
    async (ctx, { body }) => {
      const place = await resolveRulePlace(ctx, body);
      const { agent_id: agentId = null, targets = [{ kind: 'admins' as const }], warning_threshold: warning = null } = body;
      const fields = toRuleFields({ ...body, agent_id: agentId, targets, warning_threshold: warning });
      await refuseFields(ctx, fields, place);

      const id = await makeRule(ctx, { ...defaults, ...whole(fields), kind: body.kind, ...place });
      const row = await readRule(ctx, id);
      ctx.audit(noteOf(row));
      return reply(toAlertRuleView(row), { version: row.version });
    },
  ),

  getAlertRule: get(
    '/alert-rules/{rule_id}',
    {
      summary: 'Read an alert rule',
      description: 'Returns one rule with the worst state of its groups.',
      access: 'viewer',
      etag: true,
      // Its state changes independently of the version.
      notModified: false,
      params: AlertRuleParams,
      view: AlertRuleView,
    },
    async (ctx, { params }) => {
      const row = await readRule(ctx, params.rule_id);
      return reply(toAlertRuleView(row), { version: row.version });
    },
  ),

  updateAlertRule: patch(
    '/alert-rules/{rule_id}',
    {
      summary: 'Change an alert rule',
      description:
        'Changes the fields that are sent and keeps the rest. Pausing a rule, or changing what it measures or compares, ends its open alerts as rule_changed without notification. For the rule of a budget, only targets, repeat_interval_s and is_active can be changed.',
      access: 'admin',
      fails: ['state_conflict'],
      audit: 'update',
      etag: true,
      resourceType,
      params: AlertRuleParams,
      body: AlertRuleUpdate,
      view: AlertRuleView,
      example: { body: { threshold: '40', targets: [{ kind: 'admins' }, { kind: 'slack', secret_name: 'slack_alerts' }] } },
    },
    async (ctx, { params, body }) => {
      const before = await readRule(ctx, params.rule_id);
      const rule = await seeForChange(ctx, AlertRule, params.rule_id);
      const fields = toRuleFields(body);
      await refuseFields(ctx, fields, rule);

      await changeRule(ctx, rule, fields, ctx.deps.now());
      const row = await readRule(ctx, rule.id);
      ctx.audit(noteOf(row, changesOf(toAlertRuleView(before), toAlertRuleView(row), audited)));
      return reply(toAlertRuleView(row), { version: row.version });
    },
  ),

  deleteAlertRule: remove(
    '/alert-rules/{rule_id}',
    {
      summary: 'Delete an alert rule',
      description: 'Its open alerts end as rule_changed, without notification. The rule of a budget goes with the budget (409).',
      access: 'admin',
      audit: 'delete',
      openWhenSuspended: true,
      fails: ['state_conflict'],
      resourceType,
      params: AlertRuleParams,
    },
    async (ctx, { params }) => {
      const row = await readRule(ctx, params.rule_id);
      const rule = await seeForChange(ctx, AlertRule, params.rule_id, { versionProperty: null, openWhenSuspended: true });
      await deleteRule(ctx, rule, ctx.deps.now());
      await forgetReplies(ctx, [rule.id]);
      ctx.audit(noteOf(row));
    },
  ),

  testAlertRule: post(
    '/alert-rules/{rule_id}/test',
    {
      summary: 'Test an alert rule',
      description:
        'Sends one message marked as a test to each target and waits up to 20 seconds for the outcomes. At most 5 tests per minute and rule, then 429.',
      access: 'admin',
      audit: 'submit',
      idempotent: true,
      resourceType,
      success: [200],
      params: AlertRuleParams,
      view: AlertTestView,
    },
    async (ctx, { params }) => {
      const rule = await seeForChange(ctx, AlertRule, params.rule_id, { versionProperty: null });
      const written = await startTest(ctx, rule, ctx.deps.now());
      const { id, name, organizationId, workspaceId, targets } = rule;
      ctx.audit({ resourceType, resourceId: id, label: name, organizationId, workspaceId });
      const asked = { place: workspaceId === null ? null : { organizationId, workspaceId }, targets, written };
      return reply(toAlertTestView([]), { afterCommit: async () => reply(toAlertTestView(await waitForTest(ctx, asked))) });
    },
  ),
};

const defaults = {
  agentId: null,
  groupBy: 'none',
  warningThreshold: null,
  windowS: 300,
  forS: 0,
  keepFiringS: 0,
  repeatIntervalS: 14_400,
  noDataMode: 'ok',
  isActive: true,
} as const;

type Whole = Partial<RuleFields> & Pick<RuleFields, 'name' | 'operator' | 'threshold' | 'targets'>;

/** What a create body always has; its schema demands it. */
function whole({ name, operator, threshold, targets, ...rest }: Partial<RuleFields>): Whole {
  if (name === undefined || operator === undefined || threshold === undefined || targets === undefined)
    throw new Error('a body passed that lacks what its schema demands');
  return { name, operator, threshold, targets, ...rest };
}

interface RulePlace {
  readonly organizationId: string;
  readonly workspaceId: string | null;
}

/** Alert rules lie in an organization or one of its workspaces. */
async function resolveRulePlace(ctx: Ctx, body: Parameters<typeof resolveNewRowScope>[1]): Promise<RulePlace> {
  const { organizationId, workspaceId } = await resolveNewRowScope(ctx, { scope: body.scope, workspace_id: body.workspace_id });
  if (organizationId === null) throw invalid('/scope', 'enum', 'cannot be platform: an alert rule belongs to an organization');
  return { organizationId, workspaceId };
}

/** 422 for an agent that is not there, or never runs where the rule measures, and for targets that can't be notified. */
async function refuseFields(
  ctx: Ctx,
  { agentId, targets }: Partial<RuleFields>,
  { organizationId, workspaceId }: RulePlace,
): Promise<void> {
  if (agentId) await refuseAgent(ctx, agentId, { organizationId, workspaceId });
  if (!targets) return;
  const policy = { allowHttp: ctx.deps.env.allowHttp, exceptions: await readEgressAllowlist(ctx, organizationId) };
  await refuseTargets(ctx, { targets, place: { organizationId, workspaceId }, policy });
}

async function refuseAgent(ctx: Ctx, agentId: string, place: RulePlace): Promise<void> {
  const agent = await findAgentPlace(ctx, agentId);
  const isThere =
    [place.organizationId, null].includes(agent?.organizationId ?? null) &&
    (place.workspaceId === null || [place.workspaceId, null].includes(agent?.workspaceId ?? null));
  if (agent === null || !isThere) throw invalid('/agent_id', 'reference', 'does not refer to an agent that runs in the scope of the rule');
}

const audited = [
  'name',
  'agent_id',
  'group_by',
  'operator',
  'threshold',
  'warning_threshold',
  'window_s',
  'for_s',
  'keep_firing_s',
  'repeat_interval_s',
  'no_data_mode',
  'targets',
  'is_active',
] as const;

function noteOf({ id, name, organizationId, workspaceId }: AlertRuleRow, changes: AuditNote['changes'] = {}): AuditNote {
  return { resourceType, resourceId: id, label: name, organizationId, workspaceId, changes };
}
