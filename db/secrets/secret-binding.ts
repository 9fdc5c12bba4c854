import type { Binding } from '../tenancy/keys/envelope.ts';

/** What a secret's value is tied to. */
export interface SecretScope {
  readonly organization_id: string | null;
  readonly workspace_id: string | null;
  readonly tool_id: string | null;
  readonly name: string;
  readonly value_version: number;
}

/** Ties a value to its row and to how often it was set: moved elsewhere, or put back later, it does not open. */
export function secretBinding(place: SecretScope): Binding {
  return {
    organizationId: place.organization_id,
    aad: ['secrets', place.workspace_id, place.tool_id, place.name, place.value_version],
  };
}
