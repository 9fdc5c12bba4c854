import { useQueryClient } from '@tanstack/react-query';
import { etagOf } from '@longhaul/client';
import { useMe } from '../app/access.ts';
import { api, type Views } from '../app/api.ts';
import { t } from '../messages/en.ts';
import { FormDialog } from '../ui/form-dialog.tsx';
import type { FormField, Values } from '../ui/form-fields.tsx';
import { alertTexts as a } from './messages.ts';

type Rule = Views['AlertRuleView'];
type Target = NonNullable<Views['AlertRuleCreate']['targets']>[number];

const kinds = [
  'spend',
  'run_failures',
  'run_failure_pct',
  'run_duration_p95',
  'runs_waiting',
  'delivery_failures',
  'schedule_missed',
  'unpriced_usage',
] as const;
const operators = ['gt', 'gte', 'lt', 'lte'] as const;
const noDataModes = ['ok', 'keep', 'alert'] as const;
const groups = ['none', 'workspace', 'agent'] as const;

const common: readonly FormField[] = [
  { kind: 'choice', name: 'operator', label: a.fields.operator, options: operators.map((id) => ({ id, label: a.operators[id] })) },
  { name: 'threshold', label: a.fields.threshold },
  { name: 'warning_threshold', label: a.fields.warning },
  { name: 'window_s', label: a.fields.window, inputMode: 'numeric' },
  { name: 'for_s', label: a.fields.for, inputMode: 'numeric' },
  { kind: 'choice', name: 'group_by', label: a.fields.group, options: groups.map((id) => ({ id, label: a.groups[id] })) },
  { kind: 'choice', name: 'no_data_mode', label: a.fields.noData, options: noDataModes.map((id) => ({ id, label: a.noData[id] })) },
  { kind: 'check', name: 'admins', label: a.fields.admins },
  { name: 'webhook', label: a.fields.webhook },
  { name: 'secret', label: a.fields.secret },
  { kind: 'check', name: 'is_active', label: a.fields.active },
];

/** Targets that this form does not know, such as single people, stay as they are. */
function targetsOf({ admins, webhook = '', secret = '' }: Values, kept: readonly Target[]): Target[] {
  return [
    ...(admins === 'true' ? [{ kind: 'admins' as const }] : []),
    ...(webhook.trim() !== '' ? [{ kind: 'webhook' as const, url: webhook.trim(), secret_name: secret.trim() }] : []),
    ...kept,
  ];
}

function toFields(values: Values, kept: readonly Target[]) {
  const { name = '', threshold = '', warning_threshold = '', window_s = '', for_s = '' } = values;
  const operator = operators.find((one) => one === values['operator']);
  const targets = targetsOf(values, kept);
  if (name.trim() === '' || threshold.trim() === '' || operator === undefined || targets.length === 0) return null;
  return {
    name: name.trim(),
    operator,
    threshold: threshold.trim(),
    warning_threshold: warning_threshold.trim() === '' ? null : warning_threshold.trim(),
    window_s: Number(window_s),
    for_s: Number(for_s),
    group_by: groups.find((one) => one === values['group_by']) ?? 'none',
    no_data_mode: noDataModes.find((one) => one === values['no_data_mode']) ?? 'ok',
    targets,
    is_active: values['is_active'] === 'true',
  } satisfies Views['AlertRuleUpdate'];
}

export function AddRule({ workspaceId }: { readonly workspaceId: string }) {
  const queries = useQueryClient();
  const { scope } = useMe();
  const places = [
    { id: 'workspace', label: t.nav.workspace },
    ...(scope === 'workspace' ? [] : [{ id: 'organization', label: a.wholeOrganization }]),
  ];
  return (
    <FormDialog<Views['AlertRuleCreate']>
      label={a.add}
      title={a.addTitle}
      submit={t.actions.save}
      isPrimary
      fields={[
        { name: 'name', label: a.fields.name },
        { kind: 'choice', name: 'kind', label: a.fields.kind, options: kinds.map((id) => ({ id, label: a.kinds[id] ?? id })) },
        { kind: 'choice', name: 'scope', label: a.fields.scope, options: places },
        ...common,
      ]}
      initial={{
        kind: 'run_failures',
        scope: 'workspace',
        operator: 'gte',
        window_s: '300',
        for_s: '0',
        group_by: 'none',
        no_data_mode: 'ok',
        admins: 'true',
        is_active: 'true',
      }}
      toContent={(values) => {
        const fields = toFields(values, []);
        const kind = kinds.find((one) => one === values['kind']);
        if (fields === null || kind === undefined) return null;
        return {
          ...fields,
          kind,
          ...(values['scope'] === 'organization' ? { scope: 'organization' as const } : { workspace_id: workspaceId }),
        };
      }}
      write={(content, options) => api.createAlertRule(content, options)}
      onDone={() => void queries.invalidateQueries({ queryKey: ['alert-rules'] })}
    />
  );
}

export function EditRule({ rule }: { readonly rule: Rule }) {
  const queries = useQueryClient();
  const isKnown = (target: Target) => target.kind === 'admins' || target.kind === 'webhook';
  const kept = rule.targets.filter((target) => !isKnown(target));
  return (
    <FormDialog
      label={a.edit}
      title={a.editTitle}
      submit={t.actions.save}
      fields={[{ name: 'name', label: a.fields.name }, ...common]}
      read={async () => {
        const now = await api.getAlertRule({ rule_id: rule.id });
        const webhook = now.targets.find((target) => target.kind === 'webhook');
        const values = {
          name: now.name,
          operator: now.operator,
          threshold: now.threshold,
          warning_threshold: now.warning_threshold ?? '',
          window_s: String(now.window_s),
          for_s: String(now.for_s),
          group_by: now.group_by,
          no_data_mode: now.no_data_mode,
          admins: now.targets.some(({ kind }) => kind === 'admins') ? 'true' : '',
          webhook: webhook?.url ?? '',
          secret: webhook?.secret_name ?? '',
          is_active: now.is_active ? 'true' : '',
        };
        return { values, etag: etagOf(now) };
      }}
      toContent={(values) => toFields(values, kept)}
      write={(content, options) => api.updateAlertRule({ rule_id: rule.id, ...content }, options)}
      onDone={() => void queries.invalidateQueries({ queryKey: ['alert-rules'] })}
    />
  );
}
