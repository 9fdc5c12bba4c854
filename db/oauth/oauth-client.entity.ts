import { defineEntity, p } from '@mikro-orm/core';
import { createdAtColumn, idColumn, textArrayColumn, timeColumn, updatedAtColumn, uuidColumn, versionColumn } from '../columns.ts';
import { tenantIndexes, uniqueIndex } from '../indexes.ts';
import { serviceKeyRoles } from '../identity/keys/service-key.entity.ts';
import { tenantPolicies } from '../policies.ts';

export const oauthClientKinds = ['preregistered', 'registered', 'document'] as const;
export const tokenEndpointAuthMethods = ['none', 'client_secret_basic', 'client_secret_post'] as const;

const schema = defineEntity({
  name: 'OauthClient',
  tableName: 'oauth_clients',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('oauth_clients', 'open'),
  indexes: [...tenantIndexes('oauth_clients'), uniqueIndex('oauth_clients', 'client', '(client_id)')],
  checks: [{ name: 'oauth_clients_secret', expression: "(secret_hash is not null) = (token_endpoint_auth_method <> 'none')" }],
  properties: {
    /** Identifies the client in audit entries and idempotency keys. */
    id: idColumn(),
    clientId: p.text(),
    kind: p.enum(oauthClientKinds),
    clientName: p.text(),
    redirectUris: textArrayColumn()
      .onCreate(() => [])
      .defaultRaw("'{}'"),
    tokenEndpointAuthMethod: p.enum(tokenEndpointAuthMethods),
    secretHash: p.blob().$type<Buffer>().strictNullable(),
    registrationHash: p.blob().$type<Buffer>().strictNullable(),
    grantTypes: textArrayColumn()
      .onCreate(() => [])
      .defaultRaw("'{}'"),
    scope: p.text().strictNullable(),
    /** Tenant and rank under which `client_credentials` acts. */
    organizationId: uuidColumn().strictNullable(),
    workspaceId: uuidColumn().strictNullable(),
    role: p.enum(serviceKeyRoles).strictNullable(),
    document: p.json<Record<string, unknown>>().strictNullable(),
    documentExpiresAt: timeColumn().strictNullable(),
    createdAt: createdAtColumn(),
    updatedAt: updatedAtColumn(),
    lastUsedAt: timeColumn().strictNullable(),
    secretRotatedAt: timeColumn().strictNullable(),
    deletedAt: timeColumn().strictNullable(),
    version: versionColumn(),
  },
});

/** An application that asks people for access to their data, or acts for one organization by itself. */
export class OauthClient extends schema.class {}
schema.setClass(OauthClient);
