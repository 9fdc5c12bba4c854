import type { Actor, Caller } from '../../../db/caller.ts';
import type { AuditNote } from './context.ts';
import type { RegisteredOperation } from './operation.ts';

/** Returns the actor, as rows and audit entries name it. */
export function actorOf(caller: Caller): Actor {
  // In an impersonation, the operator holds the credential and acts as the target.
  if (caller.impersonationId !== null)
    return {
      kind: 'operator',
      id: caller.principalId,
      role: 'operator',
      actingUserId: caller.userId,
      impersonationId: caller.impersonationId,
    };
  const kind = caller.kind === 'nobody' ? 'system' : caller.kind === 'user' && caller.ownRole === 'operator' ? 'operator' : caller.kind;
  return {
    kind,
    id: caller.principalId,
    role: caller.kind === 'nobody' ? null : caller.ownRole,
    actingUserId: caller.actingUserId,
    impersonationId: caller.impersonationId,
  };
}

/** Returns the note of a changed row without a label: the row has none, or a person's, which is looked up when the log is read. */
export function noteOfRow(
  resourceType: string,
  row: { readonly id: string } & (
    | { readonly organizationId: string | null; readonly workspaceId: string | null }
    | { readonly organization_id: string | null; readonly workspace_id: string | null }
  ),
  changes: AuditNote['changes'],
): AuditNote {
  const organizationId = 'organizationId' in row ? row.organizationId : row.organization_id;
  const workspaceId = 'workspaceId' in row ? row.workspaceId : row.workspace_id;
  return { resourceType, resourceId: row.id, organizationId, workspaceId, changes };
}

/** The audit note of an entity that is identified by its slug. */
export function noteOfNamed(
  resourceType: string,
  entity: { readonly id: string; readonly slug: string; readonly organizationId: string | null; readonly workspaceId: string | null },
  changes: AuditNote['changes'] = {},
): AuditNote {
  const { id, slug, organizationId, workspaceId } = entity;
  return { resourceType, resourceId: id, label: slug, organizationId, workspaceId, changes };
}

/** Returns the note of a mutation whose handler wrote none: the view's own id and row scope, else the last id of the path. */
export function defaultNote(operation: RegisteredOperation, view: unknown, params: Readonly<Record<string, unknown>>): AuditNote {
  const textAt = (name: string) => {
    const value: unknown = typeof view === 'object' && view !== null ? Reflect.get(view, name) : null;
    return typeof value === 'string' ? value : null;
  };
  const lastParam = Object.values(params).at(-1);
  const resourceType = operation.resourceType ?? resourceTypeOf(operation);
  const resourceId = textAt('id') ?? (typeof lastParam === 'string' ? lastParam : null);
  return {
    resourceType,
    resourceId,
    label: textAt('name') ?? textAt('slug'),
    // An organization or workspace is its own row scope: its entries belong to its own chain.
    organizationId: textAt('organization_id') ?? (resourceType === 'organization' ? textAt('id') : null),
    workspaceId: textAt('workspace_id') ?? (resourceType === 'workspace' ? textAt('id') : null),
  };
}

/** `AgentRevisionView` → `agent_revision`; without a view, the last noun of the path. */
function resourceTypeOf(operation: RegisteredOperation): string {
  const id: unknown = operation.view ? Reflect.get(operation.view, '$id') : null;
  if (typeof id === 'string')
    return id
      .replace(/View$/, '')
      .replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2')
      .toLowerCase();
  const nouns = operation.path.split('/').filter((segment) => segment !== '' && !segment.startsWith('{'));
  return (nouns.at(-1) ?? operation.area).replaceAll('-', '_').replace(/s$/, '');
}
