import { useQuery, useQueryClient } from '@tanstack/react-query';
import { etagOf } from '@longhaul/client';
import { useMay } from '../app/access.ts';
import { api, type Views } from '../app/api.ts';
import { t } from '../messages/en.ts';
import { FormDialog } from '../ui/form-dialog.tsx';
import type { FormField, Values } from '../ui/form-fields.tsx';
import { Fault } from '../ui/notice.tsx';
import { Facts, Section } from '../ui/page.tsx';
import { organizationTexts as o } from './messages.ts';
import { useMayChangeOrganization } from './use-may-change.ts';

type Settings = Views['OrganizationSettingsView'];

const dayFields = [
  ['session_idle_days', o.idleDays],
  ['session_absolute_days', o.absoluteDays],
  ['invitation_days', o.invitationDays],
  ['audit_retention_days', o.auditDays],
  ['failed_login_retention_days', o.loginDays],
  ['delivery_retention_days', o.deliveryDays],
  ['workspace_retention_days', o.workspaceDays],
] as const;

const fields: readonly FormField[] = [
  { kind: 'check', name: 'require_mfa', label: o.requireMfa },
  { name: 'allowed_email_domains', label: o.domains },
  ...dayFields.map(([name, label]) => ({ name, label, inputMode: 'numeric' as const })),
  { name: 'run_retention_days', label: o.runDays, inputMode: 'numeric' },
];

/** What reaches beyond the organization, and so is the operator's to set. */
const operatorFields: readonly FormField[] = [
  { kind: 'area', name: 'egress_allowlist', label: o.egress, isMono: true },
  { kind: 'area', name: 'git_installations', label: o.installations, isMono: true },
];

/** How people sign in, and how long things are kept. Saving asks for a fresh second factor, and keeps what was typed. */
export function Rules({ organizationId }: { readonly organizationId: string }) {
  const queries = useQueryClient();
  const mayWrite = useMayChangeOrganization();
  const isOperator = useMay('operator');
  const settings = useQuery({
    queryKey: ['organization-settings', organizationId],
    queryFn: ({ signal }) => api.getOrganizationSettings({ organization_id: organizationId }, { signal }),
  });
  const edit = mayWrite && (
    <FormDialog
      label={o.edit}
      title={o.editRules}
      submit={t.actions.save}
      fields={isOperator ? [...fields, ...operatorFields] : fields}
      read={async () => {
        const now = await api.getOrganizationSettings({ organization_id: organizationId });
        return { values: toValues(now), etag: etagOf(now) };
      }}
      toContent={(values) => {
        const update = toUpdate(values);
        return update && { ...update, ...(isOperator && toOperatorUpdate(values)), organization_id: organizationId };
      }}
      write={(content, options) => api.updateOrganizationSettings(content, options)}
      onDone={() => void queries.invalidateQueries({ queryKey: ['organization-settings'] })}
    />
  );
  const { data } = settings;
  return (
    <Section title={o.rules} actions={edit}>
      {settings.error !== null && <Fault error={settings.error} onRetry={() => void settings.refetch()} />}
      {data !== undefined && (
        <Facts
          facts={[
            [o.requireMfa, data.require_mfa ? o.yes : o.no],
            [o.domains, data.allowed_email_domains.join(' ')],
            ...dayFields.map(([name, label]) => [label, String(data[name])] as const),
            [o.runDays, data.run_retention_days === null ? o.always : String(data.run_retention_days)],
            [o.egressShown, toValues(data)['egress_allowlist'] || o.noEgress],
          ]}
        />
      )}
    </Section>
  );
}

function toValues(settings: Settings): Values {
  return {
    require_mfa: settings.require_mfa ? 'true' : '',
    allowed_email_domains: settings.allowed_email_domains.join(' '),
    ...Object.fromEntries(dayFields.map(([name]) => [name, String(settings[name])])),
    run_retention_days: settings.run_retention_days === null ? '' : String(settings.run_retention_days),
    egress_allowlist: settings.egress_allowlist
      .map(({ host, port, allow_http }) => `${host}${port === null ? '' : `:${port}`}${allow_http ? ' http' : ''}`)
      .join('\n'),
    git_installations: settings.git_installations
      .map(({ installation_id, workspace_id }) => `${installation_id} ${workspace_id}`)
      .join('\n'),
  };
}

function toUpdate(values: Values): Views['OrganizationSettingsUpdate'] | null {
  const numbers = dayFields.map(([name]) => [name, Number(values[name])] as const);
  const runDays = values['run_retention_days']?.trim() ?? '';
  if (numbers.some(([, days]) => !Number.isInteger(days)) || (runDays !== '' && !Number.isInteger(Number(runDays)))) return null;
  return {
    require_mfa: values['require_mfa'] === 'true',
    allowed_email_domains: (values['allowed_email_domains'] ?? '').split(/[\s,]+/).filter(Boolean),
    ...Object.fromEntries(numbers),
    run_retention_days: runDays === '' ? null : Number(runDays),
  };
}

function toOperatorUpdate(values: Values): Views['OrganizationSettingsUpdate'] {
  return {
    egress_allowlist: linesOf(values['egress_allowlist']).map((line) => {
      const [place = '', scheme] = line.split(/\s+/);
      const [, host = place, port] = /^(.*?):(\d+)$/.exec(place) ?? [];
      return { host, port: port === undefined ? null : Number(port), allow_http: scheme === 'http' };
    }),
    git_installations: linesOf(values['git_installations']).map((line) => {
      const [number = '', workspace_id = ''] = line.split(/\s+/);
      return { installation_id: Number(number), workspace_id };
    }),
  };
}

function linesOf(text = ''): string[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean);
}
