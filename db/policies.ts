import type { PolicyDef } from '@mikro-orm/core';
import { functionGrants } from './definer-functions.ts';

/** What kind of rows a table holds; decides who may read and write them. */
export type TenantKind = 'scoped' | 'child' | 'tenant' | 'person' | 'open' | 'append' | 'platform';

export interface PolicyOptions {
  /** `organizations` and `workspaces`: their own id serves as the tenant column. */
  readonly self?: 'organization' | 'workspace';
  /** Person tables: the column that names the person. */
  readonly person?: string;
  /** False where the table has no workspace column. */
  readonly hasWorkspace?: boolean;
  /** Append tables: audit entries may be written without an organization. */
  readonly insertWithoutOrganization?: boolean;
  /** An additional condition for rows that the app inserts. */
  readonly insertWhere?: string;
}

interface Rules {
  readonly select: string;
  readonly insert: string;
  readonly update: string;
  readonly delete: string;
}

const commands = ['select', 'insert', 'update', 'delete'] as const;

/**
 * Returns the row-level policies of one table: four for longhaul_app by its kind, one `true` for longhaul_sweeper and, where a definer function works on it,
 * one `true` per command for longhaul_gate.
 */
export function tenantPolicies(table: string, kind: TenantKind, options: PolicyOptions = {}): PolicyDef[] {
  const rules = narrowed(rulesOf(kind, options), options);
  const forApp = commands.map((command) => policy(`app_${command}`, command, 'longhaul_app', rules[command]));
  const forGate = (functionGrants[table] ?? []).map((command) => policy(`gate_${command}`, command, 'longhaul_gate', 'true'));

  return [...forApp, policy('sweeper_all', 'all', 'longhaul_sweeper', 'true'), ...forGate];
}

function policy(name: string, command: (typeof commands)[number] | 'all', role: string, rule: string): PolicyDef {
  return {
    name,
    command,
    roles: [role],
    ...(command === 'insert' ? {} : { using: rule }),
    ...(command === 'select' || command === 'delete' ? {} : { check: rule }),
  };
}

function rulesOf(kind: TenantKind, options: PolicyOptions): Rules {
  const own = ownRule(options);
  const ownOrNone = `${own} or organization_id is null`;

  switch (kind) {
    case 'scoped':
      return { select: `${own} or (scope = 'platform' and is_active)`, insert: own, update: own, delete: own };
    case 'child':
      return { select: ownOrNone, insert: own, update: own, delete: own };
    case 'tenant':
      return all(own);
    case 'person':
      return all(`(select app_operator()) or organization_id = (select app_org()) or ${options.person ?? 'user_id'} = (select app_user())`);
    case 'open':
      return all(ownOrNone);
    case 'append':
      return { select: own, insert: options.insertWithoutOrganization ? ownOrNone : own, update: 'false', delete: 'false' };
    case 'platform':
      return { ...all('(select app_operator())'), select: 'true' };
    default:
      return kind satisfies never;
  }
}

function narrowed(rules: Rules, { insertWhere }: PolicyOptions): Rules {
  return insertWhere === undefined ? rules : { ...rules, insert: `${insertWhere} and (${rules.insert})` };
}

function all(rule: string): Rules {
  return { select: rule, insert: rule, update: rule, delete: rule };
}

// The sub-selects are evaluated once per statement; around a bare current_setting the schema comparator would report drift.
function ownRule({ self, hasWorkspace = true }: PolicyOptions): string {
  const organization = `${self === 'organization' ? 'id' : 'organization_id'} = (select app_org())`;
  const column = self === 'workspace' ? 'id' : 'workspace_id';
  const workspace = `(select app_ws_all()) or ${column} = any ((select app_ws())::uuid[])`;

  if (self === 'organization' || !hasWorkspace) return `(select app_operator()) or ${organization}`;
  if (self === 'workspace') return `(select app_operator()) or (${organization} and (${workspace}))`;
  return `(select app_operator()) or (${organization} and (workspace_id is null or ${workspace}))`;
}
