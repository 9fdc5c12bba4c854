import type { Scope } from '../../workflows/contracts/access.ts';
import { Condition } from '../condition.ts';
import type { RowScope } from '../new-row-scope.ts';
import type { PageRequest } from '../page.ts';
import { contains, preparedList } from '../page-query.ts';
import type { ParametersOf } from '../prepared.ts';
import { query } from '../query.ts';
import { isUnbounded, organizationOf, workspacesAtFloor } from '../caller-scope.ts';
import { visibleToSql, type Changing } from '../scope.ts';
import { row } from '../sql.ts';
import { Secret } from './secret.entity.ts';

/** A secret as it is shown: everything except its value. */
export type SecretRow = Awaited<ReturnType<typeof listSecretRows>>['items'][number];

export interface SecretFilters {
  readonly q?: string;
  readonly scope?: Scope;
  readonly workspaceId?: string;
}

export const secretColumns = [
  'id',
  'scope',
  'organizationId',
  'workspaceId',
  'name',
  'description',
  'valueVersion',
  'updatedByUserId',
  'lastUsedAt',
  'createdAt',
  'updatedAt',
] as const;

const listed = preparedList(
  ({ visible, q, scope, workspaceId }: ParametersOf<SecretFilters & { readonly visible: Condition }>) => {
    let secrets = query.selectFrom('secrets as s').select(secretColumns).where('s.toolId', 'is', null).where(visible);
    if (q) secrets = secrets.where(({ ref }) => contains(q, ref('s.name')));
    if (scope) secrets = secrets.where('s.scope', '=', scope);
    if (workspaceId) secrets = secrets.where('s.workspaceId', '=', workspaceId);
    return secrets;
  },
  [
    { column: 's.name', type: 'text', descending: false },
    { column: 's.id', type: 'uuid', descending: false },
  ],
);

/** Returns names and row scopes of the secrets that the caller sees at the operation's floor, by name; without tools' own secrets. */
export async function listSecretRows(ctx: Changing, { q, scope, workspaceId }: SecretFilters, page: PageRequest) {
  return listed(ctx.em, { q, scope, workspaceId, visible: visibleAtFloor(ctx) }, page);
}

/** Returns the id of the secret with this name in exactly this row scope, if the caller sees it. */
export async function findSecretId(ctx: Changing, place: Pick<RowScope, 'scope' | 'workspaceId'>, name: string): Promise<string | null> {
  const organizationId = organizationOf(ctx.caller);
  const found = await row(
    ctx.em,
    query
      .selectFrom('secrets as s')
      .select('s.id')
      .where('s.toolId', 'is', null)
      .where('s.name', '=', name)
      .where(inRowScope({ ...place, organizationId }))
      .where(visibleToSql(ctx, Secret, 's')),
  );
  return found?.id ?? null;
}

function visibleAtFloor({ caller, floor }: Changing): Condition {
  if (isUnbounded(caller)) return new Condition('true');
  const workspaceIds = workspacesAtFloor(caller, floor);
  const inWorkspaces = workspaceIds === null ? '' : ' and (s.workspace_id is null or s.workspace_id = any(?::uuid[]))';
  return new Condition(`(s.scope = 'platform' or (s.organization_id = ?::uuid${inWorkspaces}))`, [
    organizationOf(caller),
    ...(workspaceIds === null ? [] : [workspaceIds]),
  ]);
}

function inRowScope({ scope, organizationId, workspaceId }: RowScope): Condition {
  switch (scope) {
    case 'workspace':
      return new Condition("s.scope = 'workspace' and s.workspace_id = ?::uuid", [workspaceId]);
    case 'organization':
      return new Condition("s.scope = 'organization' and s.organization_id = ?::uuid", [organizationId]);
    case 'platform':
      return new Condition("s.scope = 'platform'");
    default:
      return scope satisfies never;
  }
}
