import type { Binding } from '../envelope.ts';

/** What a secret's value is bound to. */
export interface SecretScope {
  readonly organizationId: string | null;
  readonly workspaceId: string | null;
  readonly toolId: string | null;
  readonly name: string;
  readonly valueVersion: number;
}

/** Binds a value to its row and to its version: moved elsewhere, or put back later, it can't be decrypted. */
export function secretBinding({ organizationId, workspaceId, toolId, name, valueVersion }: SecretScope): Binding {
  return { organizationId, aad: ['secrets', workspaceId, toolId, name, valueVersion] };
}
