import type { Binding } from '../envelope.ts';

/** Binds the secrets of an endpoint to its row. */
export function endpointBinding(organizationId: string | null, endpointId: string): Binding {
  return { organizationId, aad: ['webhook_endpoints', endpointId] };
}
