import { storedReplyBinding } from './http/stored-replies.ts';
import { envelopeOf as signingKeyBinding } from './identity/keys/signing-key-rows.ts';
import { authorizationBinding, connectionBinding } from './mcp/grant.ts';
import type { Binding, EncryptedTable } from './envelope.ts';

/** Binds the secrets of an endpoint to its row. */
export function endpointBinding(organizationId: string | null, endpointId: string): Binding {
  return { organizationId, aad: ['webhook_endpoints', endpointId] };
}

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

/** Binds the secrets of a channel to its row. */
export function channelBinding(organizationId: string | null, channelId: string): Binding {
  return { organizationId, aad: ['channels', channelId] };
}

/** Binds the token of a message to its row. */
export function channelMessageBinding(organizationId: string | null, messageId: string): Binding {
  return { organizationId, aad: ['channel_messages', messageId] };
}

/** A row with an envelope: its primary key, and the values its binding is made of. */
export interface EncryptedRow {
  readonly key: string;
  readonly organization_id: string | null;
  readonly workspace_id: string | null;
  readonly tool_id: string | null;
  readonly name: string;
  readonly value_version: number;
}

/** Where a table stores its envelopes and what they are bound to. */
export interface SealedColumn {
  /** The primary key and its type. */
  readonly key: string;
  readonly keyType: 'uuid' | 'text';
  readonly envelope: string;
  /** A column that repeats the id of the data key. */
  readonly keyIdColumn?: string;
  /** Columns that the binding is made of. */
  readonly columns: readonly (keyof EncryptedRow)[];
  readonly bindingOf: (row: EncryptedRow) => Binding;
}

/** Every column that holds envelopes: what `keys rotate --reencrypt` processes. */
export const encryptedColumns: Readonly<Record<EncryptedTable, SealedColumn>> = {
  secrets: {
    key: 'id',
    keyType: 'uuid',
    envelope: 'value_envelope',
    columns: ['organization_id', 'workspace_id', 'tool_id', 'name', 'value_version'],
    bindingOf: (row) =>
      secretBinding({
        organizationId: row.organization_id,
        workspaceId: row.workspace_id,
        toolId: row.tool_id,
        name: row.name,
        valueVersion: row.value_version,
      }),
  },
  totp_factors: {
    key: 'user_id',
    keyType: 'uuid',
    envelope: 'secret_enc',
    columns: ['organization_id'],
    bindingOf: (row) => ({ organizationId: row.organization_id, aad: ['totp_factors', row.key] }),
  },
  signing_keys: {
    key: 'kid',
    keyType: 'text',
    envelope: 'private_enc',
    columns: [],
    bindingOf: (row) => signingKeyBinding(row.key),
  },
  idempotency_keys: {
    key: 'id',
    keyType: 'uuid',
    envelope: 'body',
    keyIdColumn: 'body_key_id',
    columns: ['organization_id'],
    bindingOf: (row) => storedReplyBinding(row.organization_id, row.key),
  },
  mcp_connections: {
    key: 'id',
    keyType: 'uuid',
    envelope: 'grant_enc',
    columns: ['organization_id'],
    bindingOf: (row) => connectionBinding(row.organization_id, row.key),
  },
  mcp_authorizations: {
    key: 'state_hash',
    keyType: 'text',
    envelope: 'verifier_enc',
    columns: ['organization_id'],
    bindingOf: (row) => authorizationBinding(row.organization_id, row.key),
  },
  webhook_endpoints: {
    key: 'id',
    keyType: 'uuid',
    envelope: 'secrets_enc',
    columns: ['organization_id'],
    bindingOf: (row) => endpointBinding(row.organization_id, row.key),
  },
  channels: {
    key: 'id',
    keyType: 'uuid',
    envelope: 'secrets_enc',
    columns: ['organization_id'],
    bindingOf: (row) => channelBinding(row.organization_id, row.key),
  },
  channel_messages: {
    key: 'id',
    keyType: 'uuid',
    envelope: 'token_enc',
    columns: ['organization_id'],
    bindingOf: (row) => channelMessageBinding(row.organization_id, row.key),
  },
};
