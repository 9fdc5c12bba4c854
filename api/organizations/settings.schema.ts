import Type, { type Static } from 'typebox';
import { iso } from '../../db/sql.ts';
import type { Settings, SettingsRow } from '../../db/tenancy/organizations/settings.ts';
import { invalid } from '../../workflows/contracts/failure.ts';
import { formats } from '../http/input/formats.ts';
import { closed, idOf, integer, listOf, nullable, text, Timestamp } from '../http/input/schema.ts';
import { fieldsSet } from '../http/operation/changes.ts';

const Host = text(253, { minLength: 1, pattern: '^(?:[^\\s/@:?#\\[\\]]+|\\[[0-9A-Fa-f:.]+\\])$', description: 'A host, IPv6 in brackets' });
const Port = nullable(integer({ minimum: 1, maximum: 65_535, description: 'Null: the default port of the scheme' }));

const fields = {
  require_mfa: Type.Boolean({
    description:
      'Users without a second factor must enrol one first, and users with one must have verified the session with it; applies at the next request of every session and connected app, and ends their open streams',
  }),
  allowed_email_domains: listOf(text(253, { minLength: 1 }), {
    maxItems: 50,
    description: 'Allowed mail domains of new users; empty: any',
  }),
  session_idle_days: days(1, 90, 'A session ends this long after its last use'),
  session_absolute_days: days(1, 365, 'A session ends this long after the login'),
  invitation_days: days(1, 30, 'How long an invitation can be accepted'),
  audit_retention_days: days(30, 3_650, 'How long audit entries are kept'),
  failed_login_retention_days: days(7, 365, 'How long failed logins are kept'),
  delivery_retention_days: days(7, 365, 'How long deliveries are kept'),
  workspace_retention_days: days(7, 365, 'How long an archived workspace can be restored'),
  run_retention_days: nullable(days(1, 3_650, 'How long runs are kept; null: forever')),
  trace_content: Type.Boolean({
    description:
      'Spans of this organization’s runs also hold its prompts, messages, tool arguments and results, truncated and without secrets, if the deployment sends such texts at all; otherwise none',
  }),
};

const byOperators = {
  egress_allowlist: listOf(closed({ host: Host, port: Port, allow_http: Type.Boolean() }), {
    maxItems: 100,
    description: 'What tools can reach besides public HTTPS addresses; set by operators',
  }),
  git_installations: listOf(closed({ installation_id: integer({ minimum: 1 }), workspace_id: idOf('Workspace') }), {
    maxItems: 500,
    description: 'Git installations that are known to belong to a workspace; set by operators',
  }),
};

type SettingName = keyof typeof fields | keyof typeof byOperators;

/** Every setting, as the API names it. */
export const settingNames = Object.keys({ ...fields, ...byOperators }) as SettingName[]; // the object's own keys

/** Settings that only operators write. */
export const operatorSettings = ['egress_allowlist', 'git_installations'] as const satisfies SettingName[];

export const OrganizationSettingsView = closed(
  { organization_id: idOf('Organization'), ...fields, ...byOperators, updated_at: Timestamp },
  { $id: 'OrganizationSettingsView', description: 'The settings of an organization' },
);

export const OrganizationSettingsUpdate = closed(
  {
    ...Type.Partial(closed(fields)).properties,
    egress_allowlist: Type.Optional(
      listOf(closed({ host: Host, port: Type.Optional(Port), allow_http: Type.Optional(Type.Boolean()) }), { maxItems: 100 }),
    ),
    git_installations: Type.Optional(byOperators.git_installations),
  },
  { $id: 'OrganizationSettingsUpdate', description: 'Omitted fields are kept; arrays are replaced as a whole' },
);

export function toSettingsView(row: SettingsRow): Static<typeof OrganizationSettingsView> {
  return {
    organization_id: row.organizationId,
    require_mfa: row.requireMfa,
    allowed_email_domains: [...row.allowedEmailDomains],
    session_idle_days: row.sessionIdleDays,
    session_absolute_days: row.sessionAbsoluteDays,
    invitation_days: row.invitationDays,
    audit_retention_days: row.auditRetentionDays,
    failed_login_retention_days: row.failedLoginRetentionDays,
    delivery_retention_days: row.deliveryRetentionDays,
    workspace_retention_days: row.workspaceRetentionDays,
    run_retention_days: row.runRetentionDays,
    trace_content: row.traceContent,
    egress_allowlist: row.egressAllowlist.map(({ host, port, allow_http }) => ({ host, port, allow_http })),
    git_installations: row.gitInstallations.map(({ installation_id, workspace_id }) => ({ installation_id, workspace_id })),
    updated_at: iso(row.updatedAt),
  };
}

/** The settings of a body as they are stored: domains and hosts in the form in which they are compared. Throws 422 for what can't be one. */
export function toSettings(body: Static<typeof OrganizationSettingsUpdate>): Partial<Settings> {
  const { allowed_email_domains: domains, egress_allowlist: allowances } = body;

  return fieldsSet<Settings>({
    requireMfa: body.require_mfa,
    allowedEmailDomains: domains && [...new Set(domains.map(storedDomain))],
    sessionIdleDays: body.session_idle_days,
    sessionAbsoluteDays: body.session_absolute_days,
    invitationDays: body.invitation_days,
    auditRetentionDays: body.audit_retention_days,
    failedLoginRetentionDays: body.failed_login_retention_days,
    deliveryRetentionDays: body.delivery_retention_days,
    workspaceRetentionDays: body.workspace_retention_days,
    runRetentionDays: body.run_retention_days,
    traceContent: body.trace_content,
    egressAllowlist: allowances?.map(({ host, port, allow_http }, at) => ({
      host: storedHost(host, at),
      port: port ?? null,
      allow_http: allow_http ?? false,
    })),
    gitInstallations: body.git_installations,
  });
}

// As addresses are folded, so that the two can be compared.
function storedDomain(domain: string, at: number): string {
  const folded = domain.trim().normalize('NFC').toLowerCase();
  if (!formats.email(`a@${folded}`) || folded.includes('*'))
    throw invalid(`/allowed_email_domains/${at}`, 'format', 'must be the domain of a mail address');
  return folded;
}

// As URLs write hosts: lower case, international names in their ASCII form.
function storedHost(host: string, at: number): string {
  const hostname = URL.parse(`https://${host}/`)?.hostname;
  if (!hostname) throw invalid(`/egress_allowlist/${at}/host`, 'format', 'must be a host');
  return hostname;
}

function days(minimum: number, maximum: number, description: string) {
  return integer({ minimum, maximum, description });
}
