import { listAlertRows, listDeliveries, listTransitions, readAlert } from '../../db/alerts/alerts.ts';
import { mapPage } from '../../db/page.ts';
import { handleAlert } from '../../domain/alerts/alerts.ts';
import { fail, invalid } from '../../workflows/contracts/failure.ts';
import { changesOf } from '../http/operation/changes.ts';
import { area, get, list, patch, reply } from '../http/operation/operation.ts';
import { alertRuleOperations } from './alert-rules.operations.ts';
import { AlertFilters, AlertParams, AlertUpdate, AlertView, toAlertView, toDeliveryView, toTransitionView } from './alert.schema.ts';

export const alerts = area('Alerts', {
  ...alertRuleOperations,

  listAlerts: list(
    '/alerts',
    {
      summary: 'List alerts',
      description: 'Alerts that the caller can see, open and resolved, newest first; from and to limit when they were opened.',
      access: 'viewer',
      paging: 'keyset',
      query: AlertFilters,
      view: AlertView,
    },
    async (ctx, { query: { status, severity, rule_id: ruleId, from, to } }) => {
      if (from !== undefined && to !== undefined && Date.parse(from) > Date.parse(to)) throw fromAfterTo();
      return mapPage(await listAlertRows(ctx, { status, severity, ruleId, from, to }, ctx.page), toAlertView);
    },
  ),

  getAlert: get(
    '/alerts/{alert_id}',
    {
      summary: 'Read an alert',
      description: 'Returns one alert with its changes and the outcomes of its notices, the newest 100 of each.',
      access: 'viewer',
      etag: true,
      // Values and deliveries change independently of the version.
      notModified: false,
      params: AlertParams,
      view: AlertView,
    },
    async (ctx, { params }) => {
      const row = await readAlert(ctx, params.alert_id);
      const [transitions, deliveries] = await Promise.all([listTransitions(ctx, row.id), listDeliveries(ctx, row.id)]);
      const view = { ...toAlertView(row), transitions: transitions.map(toTransitionView), deliveries: deliveries.map(toDeliveryView) };
      return reply(view, { version: row.version });
    },
  ),

  updateAlert: patch(
    '/alerts/{alert_id}',
    {
      summary: 'Handle an alert',
      description:
        'Acknowledges, snoozes or resolves an open alert. A continuing breach opens a new alert after for_s, at the earliest repeat_interval_s after this one was resolved. 409 for a resolved alert.',
      access: 'member',
      fails: ['state_conflict'],
      audit: 'update',
      etag: true,
      params: AlertParams,
      body: AlertUpdate,
      view: AlertView,
      example: { body: { acknowledged: true, snooze_until: null } },
    },
    async (ctx, { params, body: { acknowledged, snooze_until: snooze, resolve } }) => {
      if (acknowledged === undefined && snooze === undefined && resolve === undefined)
        throw invalid('', 'minProperties', 'must contain at least one of acknowledged, snooze_until and resolve');
      const snoozeUntil = typeof snooze === 'string' ? new Date(snooze) : snooze;
      const before = await handleAlert(
        ctx,
        params.alert_id,
        {
          ...(acknowledged === undefined ? {} : { acknowledged }),
          ...(snoozeUntil === undefined ? {} : { snoozeUntil }),
          ...(resolve ? { isResolved: true } : {}),
        },
        ctx.deps.now(),
      );

      const row = await readAlert(ctx, params.alert_id);
      const { id, organizationId, workspaceId } = row;
      ctx.audit({
        resourceType: 'alert',
        resourceId: id,
        organizationId,
        workspaceId,
        changes: changesOf(toAlertView(before), toAlertView(row), audited),
      });
      return reply(toAlertView(row), { version: row.version });
    },
  ),
});

const audited = ['status', 'acknowledged_at', 'snoozed_until', 'resolution'] as const;

function fromAfterTo(): Error {
  const message = 'from must not be after to';
  return fail('validation_failed', { detail: message, errors: [{ in: 'query', pointer: null, name: 'from', rule: 'range', message }] });
}
