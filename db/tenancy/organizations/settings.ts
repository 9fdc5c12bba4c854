import { type Selectable, sql } from 'kysely';
import { fail } from '../../../workflows/contracts/failure.ts';
import type { Condition } from '../../condition.ts';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { workspacesOf } from '../../caller-scope.ts';
import type { Scoped } from '../../scope.ts';
import { row, rows } from '../../sql.ts';
import type { Tables } from '../../table-types.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import { organizationsOf } from './organizations.ts';

/** The settings of an organization; the last two are set by an operator. */
const settingNames = [
  'requireMfa',
  'allowedEmailDomains',
  'sessionIdleDays',
  'sessionAbsoluteDays',
  'invitationDays',
  'auditRetentionDays',
  'failedLoginRetentionDays',
  'deliveryRetentionDays',
  'workspaceRetentionDays',
  'runRetentionDays',
  'traceContent',
  'egressAllowlist',
  'gitInstallations',
] as const;
export const settingsColumns = ['organizationId', ...settingNames, 'updatedAt', 'version'] as const;

/** The values of the settings. */
export type Settings = Pick<Selectable<Tables['organization_settings']>, (typeof settingNames)[number]>;
export type SettingsRow = Pick<Selectable<Tables['organization_settings']>, (typeof settingsColumns)[number]>;

const selected = settingsColumns.map((name) => `s.${name}` as const);

const settingsOf = prepared(({ organizationId, visible }: ParametersOf<{ readonly organizationId: string; readonly visible: Condition }>) =>
  query
    .selectFrom('organizations as o')
    .innerJoin('organization_settings as s', 's.organizationId', 'o.id')
    .select(selected)
    .where('o.id', '=', organizationId)
    .where(visible),
);

/** Returns the settings of an organization that the caller sees, with the Git installations of visible workspaces only. Throws 404. */
export async function readSettings(ctx: Scoped, organizationId: string): Promise<SettingsRow> {
  const found = await row(ctx.em, settingsOf({ organizationId, visible: organizationsOf(ctx.caller) }));
  if (!found) throw fail('not_found');
  const seen = workspacesOf(ctx.caller);
  if (seen === null) return found;
  return { ...found, gitInstallations: found.gitInstallations.filter(({ workspace_id }) => seen.includes(workspace_id)) };
}

const contentOf = prepared(({ organizationId }: ParametersOf<{ readonly organizationId: string }>) =>
  query.selectFrom('organization_settings as s').select('s.traceContent').where('s.organizationId', '=', organizationId),
);

/** Whether an organization wants its texts in traces. */
export async function wantsTraceContent(tx: Pick<TenantTransaction, 'em'>, organizationId: string): Promise<boolean> {
  return (await row(tx.em, contentOf({ organizationId })))?.traceContent ?? false;
}

/** Returns the settings of an organization that the caller sees, locked, and its state; null when there is none. */
export async function findSettingsForChange(ctx: Scoped, organizationId: string) {
  return row(
    ctx.em,
    query
      .selectFrom('organizations as o')
      .innerJoin('organization_settings as s', 's.organizationId', 'o.id')
      .select(selected)
      .select('o.status')
      .where('o.id', '=', organizationId)
      .where(organizationsOf(ctx.caller))
      .forNoKeyUpdate('s'),
  );
}

/** Returns those of the given ids that are workspaces of an organization. */
export async function workspacesAmong(tx: TenantTransaction, organizationId: string, ids: readonly string[]): Promise<Set<string>> {
  const found = await rows(
    tx.em,
    query
      .selectFrom('workspaces as w')
      .select('w.id')
      .where('w.organizationId', '=', organizationId)
      .where(sql<boolean>`w.id = any(${ids}::uuid[])`),
  );
  return new Set(found.map(({ id }) => id));
}
