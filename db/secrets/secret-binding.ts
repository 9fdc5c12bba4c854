import type { Binding } from '../tenancy/keys/envelope.ts';

/** What a secret's value is bound to. */
export interface SecretScope {
  readonly organization_id: string | null;
  readonly workspace_id: string | null;
  readonly tool_id: string | null;
  readonly name: string;
  readonly value_version: number;
}

/** Binds a value to its row and to its version: moved elsewhere, or put back later, it can't be decrypted. */
export function secretBinding(place: SecretScope): Binding {
  return {
    organizationId: place.organization_id,
    aad: ['secrets', place.workspace_id, place.tool_id, place.name, place.value_version],
  };
}
