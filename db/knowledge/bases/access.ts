import { rankOf, roles, type Role } from '../../../workflows/contracts/access.ts';
import type { Caller } from '../../caller.ts';
import { Condition } from '../../condition.ts';
import { isUnbounded, workspacesAtFloor, workspacesOf } from '../../caller-scope.ts';
import { visibleToSql, visibleTo, type Scoped } from '../../scope.ts';
import { KnowledgeBase, type KnowledgeSubjectKind } from './knowledge-base.entity.ts';
import { knowledgeAccesses, type KnowledgeAccess } from './knowledge-grant.entity.ts';

/**
 * What a caller may do with bases, as conditions for `where` and `select` of a query over `knowledge_bases`. The database evaluates each condition at the
 * time of the query, so a revoked or expired grant loses its effect at once. The conditions do not include the rank that the operation demands: `seen`
 * checks it where the base lies.
 */
export interface BaseAccess {
  /**
   * The caller may learn that the base exists: it lies within the caller's scope and is not a private base of others. Denied access to a visible base is
   * 403; any other base is 404.
   */
  readonly visible: Condition;
  readonly canRead: Condition;
  readonly canWrite: Condition;
  readonly canCurate: Condition;
  readonly canManage: Condition;
  /** An admin where the base lies: sees a private base, its statistics and its grants, and may grant and purge, without reading its content. */
  readonly isAdmin: Condition;
}

/** A run as the subject of access rules: its agent, persona, subject and bindings determine which bases it may use. */
export interface RunPrincipal {
  readonly organizationId: string;
  readonly workspaceId: string;
  readonly agentId: string;
  readonly personaId: string | null;
  readonly subject: { readonly kind: KnowledgeSubjectKind; readonly id: string } | null;
  /** Bases that the revision or persona names; a superseded one stands for its successor. */
  readonly bindings: readonly { readonly kbId: string; readonly access: 'read' | 'write' }[];
}

/** Returns an expression for the base whose rights apply to `alias`: for a superseded base its successor, for one being built the base it is built from. */
function standingFor(alias: string): string {
  return `coalesce(${alias}.successor_id, case when ${alias}.activated_at is null then ${alias}.predecessor_id end, ${alias}.id)`;
}

/**
 * What a caller may do with the bases `alias`, whatever their state, including superseded ones and those being built. An open base gives every caller who
 * sees it the access that the floor allows, but writing to a base of a wider scope than the caller's own requires a grant. A private base is accessible to
 * its subject and to holders of a grant.
 */
export function baseAccess(ctx: Scoped, alias: string): BaseAccess {
  const may = (access: KnowledgeAccess) => onStanding(alias, (standing) => mayOn(ctx.caller, standing, access));
  const canRead = may('read');
  const isAdmin = adminOf(ctx.caller, alias);
  const visible = all([visibleToSql(ctx, KnowledgeBase, alias), any([canRead, isAdmin])]);
  return { visible, canRead, canWrite: may('write'), canCurate: may('curate'), canManage: may('manage'), isAdmin };
}

/**
 * Returns a condition: the bases `alias` that a list shows the caller. These are the bases that it may read and, for an admin where they lie, all of them;
 * never one that is still being built.
 */
export function listedBases(ctx: Scoped, alias: string): Condition {
  const readable = onStanding(alias, (standing) => mayOn(ctx.caller, standing, 'read'));
  const place = visibleTo(ctx, KnowledgeBase, alias);
  return all([isLive(alias), place, any([readable, adminOf(ctx.caller, alias)])]);
}

/** Returns a condition: the bases `alias` that a caller uses together, as in a search over all bases: live, standing bases to which it has this access. */
export function usableBases(ctx: Scoped, alias: string, access: KnowledgeAccess = 'read'): Condition {
  return all([isStanding(alias), visibleTo(ctx, KnowledgeBase, alias), mayOn(ctx.caller, alias, access)]);
}

/**
 * Returns a condition: the bases `alias` whose maintenance results the caller may read. For an open base that is everyone who may read it, for a private
 * one everyone with `access`. `forAdmins` adds the admins where the base lies, for results that contain counts and ids but no content.
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
 * Returns a condition: the bases `alias` that a run reads or writes. These are the bases that its agent or persona owns, those granted to them, and open
 * ones that its revision or persona names (for writing only where the binding says so). A base with a subject is usable only in a run of that subject. All
 * of them must be live and standing.
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

/** Returns a condition: the bases `alias` that the ids name, or that succeed a superseded base which they name. */
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

/** What a caller may do with a standing base that it sees. */
function mayOn(caller: Caller, alias: string, access: KnowledgeAccess): Condition {
  const open = new Condition(`(not ${alias}.is_private${access === 'read' ? '' : ` and ${ownPlace(caller, alias)}`})`);
  const ofSubject = new Condition(`(${alias}.subject_kind = 'user' and ${alias}.subject_id = ?)`, [caller.userId]);
  return any([open, ofSubject, grantedTo(caller, alias, access)]);
}

/** Whether a base that the caller sees lies in the caller's own scope rather than in a wider one. */
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

/** A role grant covers that role and those above it, where the base lies: a role in one workspace does not count in another. */
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
