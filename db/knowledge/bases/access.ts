import { rankOf, roles, type Role } from '../../../workflows/contracts/access.ts';
import type { Caller } from '../../caller.ts';
import { Condition } from '../../condition.ts';
import { isUnbounded, workspacesAtFloor, workspacesOf } from '../../reach.ts';
import { visibleToSql, visibleTo, type Scoped } from '../../scope.ts';
import { KnowledgeBase, type KnowledgeSubjectKind } from './knowledge-base.entity.ts';
import { knowledgeAccesses, type KnowledgeAccess } from './knowledge-grant.entity.ts';

/**
 * What a caller may do with bases, as conditions for `where` and `select` of a query over `knowledge_bases`. Each asks the database anew, so a grant
 * that is revoked or past its end counts as none at once. The rank that the operation demands is not in them: `seen` judges it where the base lies.
 */
export interface BaseAccess {
  /** The base may be named to the caller: in its sight, and not the private one of others. What it may not read of it is 403, else 404. */
  readonly visible: Condition;
  readonly canRead: Condition;
  readonly canWrite: Condition;
  readonly canCurate: Condition;
  readonly canManage: Condition;
  /** An admin of the place: sees a private base, its statistics and its grants, and may grant and purge, without reading what it holds. */
  readonly isAdmin: Condition;
}

/** A run that asks: whose bases, grants and bindings count. */
export interface RunPrincipal {
  readonly organizationId: string;
  readonly workspaceId: string;
  readonly agentId: string;
  readonly personaId: string | null;
  readonly subject: { readonly kind: KnowledgeSubjectKind; readonly id: string } | null;
  /** Bases that revision or persona names; one that has been superseded stands for its successor. */
  readonly bindings: readonly { readonly kbId: string; readonly access: 'read' | 'write' }[];
}

/** A base whose rights count for `alias`: of a superseded one its successor, of one that is being built the base that it is built from. */
function standingFor(alias: string): string {
  return `coalesce(${alias}.successor_id, case when ${alias}.activated_at is null then ${alias}.predecessor_id end, ${alias}.id)`;
}

/**
 * What a caller may do with the bases `alias`, whatever their state: superseded ones and those being built too. An open base gives whoever it is
 * visible to what the floor lets, but writing in a place wider than one's own takes a grant. A private one is its subject's and that of grants.
 */
export function baseAccess(ctx: Scoped, alias: string): BaseAccess {
  const may = (access: KnowledgeAccess) => onStanding(alias, (standing) => mayOn(ctx.caller, standing, access));
  const canRead = may('read');
  const isAdmin = adminOf(ctx.caller, alias);
  const visible = all([visibleToSql(ctx, KnowledgeBase, alias), any([canRead, isAdmin])]);
  return { visible, canRead, canWrite: may('write'), canCurate: may('curate'), canManage: may('manage'), isAdmin };
}

/** Which bases `alias` a list shows the caller: those that it reads, and as an admin of the place all. None that is still being built. */
export function listedBases(ctx: Scoped, alias: string): Condition {
  const readable = onStanding(alias, (standing) => mayOn(ctx.caller, standing, 'read'));
  const place = visibleTo(ctx, KnowledgeBase, alias);
  return all([isLive(alias), place, any([readable, adminOf(ctx.caller, alias)])]);
}

/** Which bases `alias` a caller uses all at once, as a search over all bases does: live ones that stand for themselves, with this access. */
export function usableBases(ctx: Scoped, alias: string, access: KnowledgeAccess = 'read'): Condition {
  return all([isStanding(alias), visibleTo(ctx, KnowledgeBase, alias), mayOn(ctx.caller, alias, access)]);
}

/**
 * Of which bases `alias` a caller reads what maintenance wrote: of open ones whoever reads them, of private ones whoever has that access. `forAdmins`: for
 * admins of the place too, since it holds counts and ids and none of the content.
 */
export function maintainedBases(
  ctx: Scoped,
  alias: string,
  { access, forAdmins }: { readonly access: 'curate' | 'manage'; readonly forAdmins: boolean },
): Condition {
  const open = onStanding(alias, (standing) => all([new Condition(`not ${standing}.is_private`), mayOn(ctx.caller, standing, 'read')]));
  const may = onStanding(alias, (standing) => mayOn(ctx.caller, standing, access));
  return any([open, may, ...(forAdmins ? [adminOf(ctx.caller, alias)] : [])]);
}

/**
 * Which bases `alias` a run reads or writes: those that its agent or persona owns, those granted to them, and open ones that its revision or persona
 * names, for writing only where the binding says so. One with a subject only in a run of that subject. All of them live and standing for themselves.
 */
export function basesOfRun(run: RunPrincipal, alias: string, access: 'read' | 'write' = 'read'): Condition {
  const { organizationId, workspaceId, subject } = run;
  const place = new Condition(
    `(${alias}.organization_id = ?::uuid and (${alias}.workspace_id is null or ${alias}.workspace_id = ?::uuid)${access === 'read' ? ` or ${alias}.organization_id is null` : ''})`,
    [organizationId, workspaceId],
  );
  const ofSubject = new Condition(`(${alias}.subject_kind is null or (${alias}.subject_kind = ? and ${alias}.subject_id = ?))`, [
    subject?.kind ?? null,
    subject?.id ?? null,
  ]);
  return all([
    isStanding(alias),
    place,
    ofSubject,
    any([ownedByRun(run, alias), grantedToRun(run, alias, access), boundTo(run, alias, access)]),
  ]);
}

/** Bases `alias` that ids name: themselves, and for those that have been superseded their successors. */
export function namedBases(alias: string, ids: readonly string[]): Condition {
  return new Condition(
    `(${alias}.id = any(?::uuid[]) or exists (select from knowledge_bases s where s.successor_id = ${alias}.id and s.id = any(?::uuid[])))`,
    [ids, ids],
  );
}

function isLive(alias: string): Condition {
  return new Condition(`(${alias}.deleted_at is null and ${alias}.activated_at is not null)`);
}

function isStanding(alias: string): Condition {
  return all([isLive(alias), new Condition(`${alias}.successor_id is null`)]);
}

function onStanding(alias: string, rule: (standing: string) => Condition): Condition {
  const { sql, params } = rule('standing');
  return new Condition(`exists (select from knowledge_bases standing where standing.id = ${standingFor(alias)} and ${sql})`, params);
}

/** What a caller may do with a base that stands for itself, in sight of the caller. */
function mayOn(caller: Caller, alias: string, access: KnowledgeAccess): Condition {
  const open = new Condition(`(not ${alias}.is_private${access === 'read' ? '' : ` and ${ownPlace(caller, alias)}`})`);
  const ofSubject = new Condition(`(${alias}.subject_kind = 'user' and ${alias}.subject_id = ?)`, [caller.userId]);
  return any([open, ofSubject, grantedTo(caller, alias, access)]);
}

/** Whether a base that the caller sees lies in its own place, and not in a wider one. */
function ownPlace(caller: Caller, alias: string): string {
  if (isUnbounded(caller)) return 'true';
  return workspacesOf(caller) === null ? `${alias}.organization_id is not null` : `${alias}.workspace_id is not null`;
}

function adminOf(caller: Caller, alias: string): Condition {
  if (isUnbounded(caller)) return new Condition('true');
  const inView = caller.view?.workspaceId ?? null;
  if (inView !== null) return new Condition(`(${alias}.workspace_id = ?::uuid)`, [inView]);
  if (caller.workspaces === 'all') return new Condition(isAdminRole(caller.role) ? `(${alias}.organization_id is not null)` : 'false');
  return new Condition(`(${alias}.workspace_id = any(?::uuid[]))`, [workspacesAtFloor(caller, 'admin')]);
}

function isAdminRole(role: Role): boolean {
  return rankOf(role) >= rankOf('admin');
}

function grantedTo(caller: Caller, alias: string, access: KnowledgeAccess): Condition {
  const workspaceIds = workspacesOf(caller);
  const ofUser = new Condition("(g.principal_kind = 'user' and g.principal_id = ?::uuid)", [caller.userId]);
  const ofWorkspace =
    workspaceIds === null
      ? new Condition("g.principal_kind = 'workspace'")
      : new Condition("(g.principal_kind = 'workspace' and g.principal_id = any(?::uuid[]))", [workspaceIds]);
  return granted(alias, access, any([ofUser, ofWorkspace, roleGrant(caller, alias)]));
}

/** A role grant means that role and those above it, where the base lies: a role in one workspace is none in another. */
function roleGrant(caller: Caller, alias: string): Condition {
  const byRole = new Map<Role, string[]>();
  if (caller.workspaces !== 'all') {
    for (const [workspaceId, role] of caller.workspaces) byRole.set(role, [...(byRole.get(role) ?? []), workspaceId]);
  }
  const inWorkspaces = [...byRole].map(
    ([role, ids]) => new Condition(`(${alias}.workspace_id = any(?::uuid[]) and g.role = any(?::text[]))`, [ids, rolesUpTo(role)]),
  );
  const elsewhere = new Condition(
    `(${caller.workspaces === 'all' ? 'true' : `${alias}.workspace_id is null`} and g.role = any(?::text[]))`,
    [rolesUpTo(caller.role)],
  );
  return all([new Condition("g.principal_kind = 'role'"), any([elsewhere, ...inWorkspaces])]);
}

function rolesUpTo(role: Role): Role[] {
  return roles.filter((other) => rankOf(other) <= rankOf(role));
}

function ownedByRun({ agentId, personaId }: RunPrincipal, alias: string): Condition {
  return new Condition(`(${alias}.owner_agent_id = ?::uuid or ${alias}.owner_persona_id = ?::uuid)`, [agentId, personaId]);
}

function grantedToRun({ agentId, personaId }: RunPrincipal, alias: string, access: KnowledgeAccess): Condition {
  const principal = new Condition(
    "((g.principal_kind = 'agent' and g.principal_id = ?::uuid) or (g.principal_kind = 'persona' and g.principal_id = ?::uuid))",
    [agentId, personaId],
  );
  return granted(alias, access, principal);
}

function boundTo({ bindings }: RunPrincipal, alias: string, access: 'read' | 'write'): Condition {
  const ids = bindings.filter((binding) => access === 'read' || binding.access === 'write').map(({ kbId }) => kbId);
  return all([new Condition(`not ${alias}.is_private`), namedBases(alias, ids)]);
}

function granted(alias: string, access: KnowledgeAccess, principal: Condition): Condition {
  const enough = knowledgeAccesses.slice(knowledgeAccesses.indexOf(access));
  return new Condition(
    `exists (select from knowledge_grants g where g.kb_id = ${alias}.id and g.access = any(?::text[]) and (g.expires_at is null or g.expires_at > now()) and ${principal.sql})`,
    [enough, ...principal.params],
  );
}

function all(conditions: readonly Condition[]): Condition {
  return joined(conditions, ' and ');
}

function any(conditions: readonly Condition[]): Condition {
  return joined(conditions, ' or ');
}

function joined(conditions: readonly Condition[], word: string): Condition {
  return new Condition(
    `(${conditions.map(({ sql }) => sql).join(word)})`,
    conditions.flatMap(({ params }) => params),
  );
}
