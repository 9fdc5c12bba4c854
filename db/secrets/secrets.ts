import { rows, row } from '../sql.ts';
import type { Scope } from '../../workflows/contracts/access.ts';
import type { RowScope } from '../new-row-scope.ts';
import type { KeyRing } from '../identity/key-ring.ts';
import { newId } from '../ids.ts';
import type { Page, PageRequest } from '../page.ts';
import { fetchPage, holdsText } from '../page-query.ts';
import { isUnbounded, organizationOf, workspacesAtFloor } from '../reach.ts';
import { inSightOf, type Changing, type Predicate } from '../scope.ts';
import { seal } from '../tenancy/envelope.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import { secretBinding } from './secret-binding.ts';
import { Secret } from './secret.entity.ts';

/** A secret as it is shown: everything but its value. */
export interface SecretRow {
  readonly id: string;
  readonly scope: Scope;
  readonly organization_id: string | null;
  readonly workspace_id: string | null;
  readonly name: string;
  readonly description: string | null;
  readonly value_version: number;
  readonly updated_by_user_id: string | null;
  readonly last_used_at: Date | string | null;
  readonly created_at: Date | string;
  readonly updated_at: Date | string;
}

export interface SecretFilters {
  readonly q?: string;
  readonly scope?: Scope;
  readonly workspace_id?: string;
}

const columns = `s.id, s.scope, s.organization_id, s.workspace_id, s.name, s.description, s.value_version, s.updated_by_user_id, s.last_used_at,
  s.created_at, s.updated_at`;

/** Names and places of the secrets that the caller sees at the operation's floor, by name; no tool's own. */
export function listSecretRows(ctx: Changing, filters: SecretFilters, page: PageRequest): Promise<Page<SecretRow>> {
  const visible = visibleAtFloor(ctx);
  const where = ['s.tool_id is null', visible.sql];
  const params: unknown[] = [...visible.params];
  const narrow = (sql: string, value: unknown): void => {
    where.push(sql);
    params.push(value);
  };
  if (filters.q !== undefined) narrow(holdsText('s.name'), filters.q);
  if (filters.scope !== undefined) narrow('s.scope = ?', filters.scope);
  if (filters.workspace_id !== undefined) narrow('s.workspace_id = ?::uuid', filters.workspace_id);

  return fetchPage<SecretRow>(ctx.em, {
    select: columns,
    from: 'secrets s',
    where: where.join(' and '),
    params,
    order: [
      { column: 's.name', type: 'text', descending: false },
      { column: 's.id', type: 'uuid', descending: false },
    ],
    page,
  });
}

/** The secret of this name in this very place, if the caller sees it. */
export async function findSecretId(ctx: Changing, place: Pick<RowScope, 'scope' | 'workspaceId'>, name: string): Promise<string | null> {
  const visible = inSightOf(ctx, Secret, 's');
  const organizationId = organizationOf(ctx.caller);
  const home = placeOf({ ...place, organizationId });
  const found = await row<{ id: string }>(
    ctx.em,
    `select s.id from secrets s where s.tool_id is null and s.name = ? and ${home.sql} and ${visible.sql}`,
    [name, ...home.params, ...visible.params],
  );
  return found?.id ?? null;
}

export interface SecretValue {
  readonly name: string;
  readonly value: string;
  /** Undefined keeps, null clears. */
  readonly description: string | null | undefined;
}

/** What a secret was before it was put; null when it is new. */
export interface SecretBefore {
  readonly value_version: number;
  readonly description: string | null;
}

/** Sets a value in a place, made or replaced; two at once come one after the other. Each value gets a number of its own. */
export async function putSecretRow(
  tx: TenantTransaction & { readonly caller: Changing['caller'] },
  keys: Pick<KeyRing, 'keks'>,
  put: { readonly home: RowScope; readonly secret: SecretValue },
): Promise<{ row: SecretRow; before: SecretBefore | null }> {
  const { home, secret } = put;
  const { organizationId, workspaceId, scope } = home;
  const target = { workspace: 'workspace_id, name', organization: 'organization_id, name', platform: 'name' }[scope];
  // Makes or locks the row: the value is sealed for its number, which only then is known.
  const locked = await row<{ id: string } & SecretBefore>(
    tx.em,
    `insert into secrets (id, scope, organization_id, workspace_id, name, value_envelope, value_version) values (?, ?, ?, ?, ?, '', 0)
     on conflict (${target}) where scope = '${scope}' and tool_id is null do update set name = excluded.name
     returning id, value_version, description`,
    [newId(), scope, organizationId, workspaceId, secret.name],
  );
  if (!locked) throw new Error('A secret was put and is not visible: the transaction is of another tenant');

  const value_version = locked.value_version + 1;
  const place = { organization_id: organizationId, workspace_id: workspaceId, tool_id: null, name: secret.name, value_version };
  const envelope = await seal(tx.em, keys, secretBinding(place), Buffer.from(secret.value));
  const description = secret.description === undefined ? locked.description : secret.description;
  const [written] = await rows<SecretRow>(
    tx.em,
    `update secrets s set value_envelope = ?, value_version = ?, description = ?, updated_by_user_id = ?, updated_at = now(), version = s.version + 1
     where s.id = ? returning ${columns}`,
    [envelope, value_version, description, tx.caller.userId, locked.id],
  );
  if (!written) throw new Error('A secret that was locked is gone');
  return { row: written, before: locked.value_version === 0 ? null : locked };
}

function visibleAtFloor({ caller, floor }: Changing): Predicate {
  if (isUnbounded(caller)) return { sql: 'true', params: [] };
  const workspaceIds = workspacesAtFloor(caller, floor);
  const inWorkspaces = workspaceIds === null ? '' : ' and (s.workspace_id is null or s.workspace_id = any(?::uuid[]))';
  return {
    sql: `(s.scope = 'platform' or (s.organization_id = ?::uuid${inWorkspaces}))`,
    params: [organizationOf(caller), ...(workspaceIds === null ? [] : [workspaceIds])],
  };
}

function placeOf({ scope, organizationId, workspaceId }: RowScope): Predicate {
  switch (scope) {
    case 'workspace':
      return { sql: "s.scope = 'workspace' and s.workspace_id = ?::uuid", params: [workspaceId] };
    case 'organization':
      return { sql: "s.scope = 'organization' and s.organization_id = ?::uuid", params: [organizationId] };
    case 'platform':
      return { sql: "s.scope = 'platform'", params: [] };
    default:
      return scope satisfies never;
  }
}
