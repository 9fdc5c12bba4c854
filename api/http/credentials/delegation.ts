import type { FastifyRequest } from 'fastify';
import type { Caller } from '../../../db/caller.ts';
import { actAs, narrowTo, refuseDelegation } from '../../../domain/identity/callers/caller.ts';
import type { SessionAnswer } from '../../../db/identity/lookup/credential-lookup.ts';
import type { Person } from '../../../db/identity/people/people.ts';
import { fail, type Failure } from '../../../workflows/contracts/failure.ts';

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Headers by which a caller acts as another or narrows its view. */
const delegationHeaders = {
  actingUser: 'X-Acting-User',
  viewOrganization: 'X-View-Organization',
  viewWorkspace: 'X-View-Workspace',
} as const;
/** The headers by which a caller acts as another user or narrows its view. */
export type Delegation = Readonly<Record<keyof typeof delegationHeaders, HeaderId>>;

/** An id in a header: absent, no uuid, or the lower-cased uuid. */
type HeaderId = { readonly state: 'absent' } | { readonly state: 'garbled' } | { readonly state: 'id'; readonly id: string };

/** Narrowing is for operators; from any other caller it is refused, not ignored, so that the caller never assumes that it worked. */
export function narrow(caller: Caller, delegation: Delegation, found: SessionAnswer | null): Caller {
  const { viewOrganization, viewWorkspace } = delegation;

  if (viewOrganization.state === 'absent' && viewWorkspace.state === 'absent') return caller;
  if (caller.role !== 'operator' || !found) {
    throw fail('role_insufficient', { detail: 'Only operators can send X-View-Organization and X-View-Workspace.' });
  }
  if (viewOrganization.state === 'garbled') throw noUuid('viewOrganization');
  if (viewWorkspace.state === 'garbled') throw noUuid('viewWorkspace');

  const workspace = viewWorkspace.state === 'id' ? found.viewWorkspace : null;
  const organizationId = viewOrganization.state === 'id' ? found.viewOrganization : (workspace?.organizationId ?? null);
  const isWorkspaceMissing = viewWorkspace.state === 'id' && workspace?.organizationId !== organizationId;

  if (organizationId === null || isWorkspaceMissing)
    throw fail('not_found', { detail: 'The organization or workspace to view does not exist.' });
  return narrowTo(caller, { organizationId, workspaceId: workspace?.id ?? null });
}

/** The caller acting as the user of X-Acting-User, if it is there. */
export function delegate(caller: Caller, { actingUser }: Delegation, acting: Person | null): Caller {
  if (actingUser.state === 'absent') return caller;
  refuseDelegation(caller);
  if (actingUser.state === 'garbled') throw noUuid('actingUser');
  return actAs(caller, acting);
}

/** The three headers as they were sent. */
export function readDelegation(headers: FastifyRequest['headers']): Delegation {
  const read = (name: keyof Delegation): HeaderId => {
    const value = headers[delegationHeaders[name].toLowerCase()];

    if (value === undefined) return { state: 'absent' };
    return typeof value === 'string' && uuidPattern.test(value) ? { state: 'id', id: value.toLowerCase() } : { state: 'garbled' };
  };

  return { actingUser: read('actingUser'), viewOrganization: read('viewOrganization'), viewWorkspace: read('viewWorkspace') };
}

/** The id of a header, null when it is absent or garbled. */
export function idOrNull(header: HeaderId): string | null {
  return header.state === 'id' ? header.id : null;
}

function noUuid(header: keyof Delegation): Failure {
  const name = delegationHeaders[header];
  const message = `${name} must be a uuid`;

  return fail('validation_failed', {
    detail: message,
    errors: [{ in: 'header', pointer: null, name, rule: 'format', message, params: { format: 'uuid' } }],
  });
}
