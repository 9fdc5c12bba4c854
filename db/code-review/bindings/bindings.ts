import { sql } from 'kysely';
import type { Condition } from '../../condition.ts';
import { anyId } from '../../expressions.ts';
import { preparedList } from '../../page-query.ts';
import type { PageRequest } from '../../page.ts';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { visibleToSql, seen, visibleTo, type Scoped } from '../../scope.ts';
import { row, rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import { usableIn, type Place } from '../../usable-in.ts';
import { RepoBinding } from './repo-binding.entity.ts';
import { reviewBinding } from '../pulls/review-run.ts';

/** A binding as it is read. */
export type BindingRow = Awaited<ReturnType<typeof listBindingRows>>['items'][number];

export interface BindingFilters {
  readonly installationId?: number;
  /** In lower case. */
  readonly repoKey?: string;
  /** Each is true or undefined: a prepared query only sees which are present. */
  readonly active?: true;
  readonly inactive?: true;
}

/** The tenant of a binding. */
export type BindingPlace = Place;

function selectBindings(visible: Condition) {
  return query
    .selectFrom('repo_bindings as b')
    .where('b.deletedAt', 'is', null)
    .where(visible)
    .select(['b.id', 'b.organizationId', 'b.workspaceId', 'b.installationId', 'b.repoFullName', 'b.reviewerAgentId', 'b.editorAgentId'])
    .select(['b.enabledEvents', 'b.reviewConfig', 'b.editorConfig', 'b.budgetConfig', 'b.workspaceConfig', 'b.isActive'])
    .select(['b.version', 'b.createdAt', 'b.updatedAt']);
}

const oneBinding = prepared(({ bindingId, visible }: ParametersOf<{ readonly bindingId: string; readonly visible: Condition }>) =>
  selectBindings(visible).where('b.id', '=', bindingId),
);

/** Returns one binding that the caller sees, or null when there is none. */
export function findBinding(ctx: Scoped, bindingId: string): Promise<BindingRow | null> {
  return row(ctx.em, oneBinding({ bindingId, visible: visibleToSql(ctx, RepoBinding, 'b') }));
}

/** Returns one binding that the caller sees. Throws 404, or 403 where the caller's rank is below the floor. */
export async function readBinding(ctx: Scoped, bindingId: string): Promise<BindingRow> {
  return seen(ctx, await findBinding(ctx, bindingId));
}

const bindingList = preparedList(
  ({ installationId, repoKey, active, inactive, visible }: ParametersOf<BindingFilters & { readonly visible: Condition }>) => {
    let bindings = selectBindings(visible);
    if (installationId) bindings = bindings.where('b.installationId', '=', installationId);
    if (repoKey) bindings = bindings.where('b.repoKey', '=', repoKey);
    if (active) bindings = bindings.where('b.isActive', '=', sql.lit(true));
    if (inactive) bindings = bindings.where('b.isActive', '=', sql.lit(false));
    return bindings;
  },
  [{ column: 'b.id', type: 'uuid', descending: true }],
);

/** Returns the bindings that the caller sees, newest first. */
export function listBindingRows(ctx: Scoped, filters: BindingFilters, page: PageRequest) {
  return bindingList(ctx.em, { ...filters, visible: visibleTo(ctx, RepoBinding, 'b') }, page);
}

const usableAmong = prepared(({ agentIds, usable }: ParametersOf<{ readonly agentIds: readonly string[]; readonly usable: Condition }>) =>
  query
    .selectFrom('agents as a')
    .select('a.id')
    .where('a.id', '=', anyId(agentIds))
    .where('a.deletedAt', 'is', null)
    .where('a.isActive', '=', sql.lit(true))
    .where(usable),
);

/** Returns those of the given agents that exist, are active, and may run in the workspace. */
export async function usableAgents(
  tx: Pick<TenantTransaction, 'em'>,
  agentIds: readonly string[],
  place: BindingPlace,
): Promise<ReadonlySet<string>> {
  if (agentIds.length === 0) return new Set();
  const found = await rows(tx.em, usableAmong({ agentIds, usable: usableIn(place, 'a') }));
  return new Set(found.map(({ id }) => id));
}

const usableSandbox = prepared(({ toolId, usable }: ParametersOf<{ readonly toolId: string; readonly usable: Condition }>) =>
  query
    .selectFrom('tools as t')
    .select('t.id')
    .where('t.id', '=', toolId)
    .where('t.deletedAt', 'is', null)
    .where('t.isActive', '=', sql.lit(true))
    .where('t.kind', '=', 'code_exec')
    .where(usable),
);

/** Whether a tool runs code and may be used in the workspace. */
export async function isUsableSandbox(tx: Pick<TenantTransaction, 'em'>, toolId: string, place: BindingPlace): Promise<boolean> {
  return (await row(tx.em, usableSandbox({ toolId, usable: usableIn(place, 't') }))) !== null;
}

const listedInstallations = prepared(({ organizationId }: ParametersOf<{ readonly organizationId: string }>) =>
  query.selectFrom('organization_settings as s').select('s.gitInstallations').where('s.organizationId', '=', organizationId),
);

/** Whether an operator has listed the installation for the workspace. */
export async function isListedInstallation(
  tx: Pick<TenantTransaction, 'em'>,
  { organizationId, workspaceId }: BindingPlace,
  installationId: number,
): Promise<boolean> {
  const settings = await row(tx.em, listedInstallations({ organizationId }));
  const listed = settings?.gitInstallations ?? [];
  return listed.some((one) => one.installation_id === installationId && one.workspace_id === workspaceId);
}

const repositoryPlace = prepared(({ bindingId }: ParametersOf<{ readonly bindingId: string }>) =>
  query
    .selectFrom('repo_bindings as b')
    .select(['b.organizationId', 'b.workspaceId', reviewBinding.as('binding')])
    .where('b.id', '=', bindingId)
    .where('b.deletedAt', 'is', null),
);

/** Returns an undeleted binding of the transaction's tenant with what is needed to reach its repository, or null when there is none. */
export function readRepositoryPlace(tx: Pick<TenantTransaction, 'em'>, bindingId: string) {
  return row(tx.em, repositoryPlace({ bindingId }));
}
