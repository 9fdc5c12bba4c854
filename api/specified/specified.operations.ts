import type { Access } from '../http/operation/operation.ts';
import { area, get, post, put, remove } from '../http/operation/operation.ts';
import { closed, text } from '../http/input/schema.ts';

const Later = closed({}, { $id: 'LaterView' });
const Organization = closed({ organization_id: text(36) });

/** An operation that the contract names and that is not mounted yet: no route, in no document. */
function later<A extends Access>(access: A, params: ReturnType<typeof closed> | undefined = undefined) {
  return {
    access,
    params,
    status: 'specified',
    view: Later,
    summary: 'Not mounted',
    description: 'Specified but not implemented yet; answers 404.',
  } as const;
}

async function refuse(): Promise<never> {
  throw new Error('a specified operation is never routed');
}

export const specified = area('Specified', {
  listSsoConnections: get('/organizations/{organization_id}/sso-connections', later('owner', Organization), refuse),
  createSsoConnection: post(
    '/organizations/{organization_id}/sso-connections',
    { ...later('owner', Organization), audit: 'create', idempotent: true },
    refuse,
  ),
  deleteSsoConnection: remove(
    '/organizations/{organization_id}/sso-connections/{connection_id}',
    { ...later('owner', closed({ organization_id: text(36), connection_id: text(36) })), audit: 'delete' },
    refuse,
  ),
  listScimUsers: get('/scim/v2/Users', later('admin'), refuse),
  createScimUser: post('/scim/v2/Users', { ...later('admin'), audit: 'create' }, refuse),
  exportAuditLog: post('/audit-log/exports', { ...later('owner'), audit: 'submit', idempotent: true }, refuse),
  listInvoices: get('/invoices', later('admin'), refuse),
  receiveHookByPut: put(
    '/hooks/{workspace_id}/{slug}',
    { ...later('ingress', closed({ workspace_id: text(36), slug: text(120) })), audit: 'none' },
    refuse,
  ),
});
