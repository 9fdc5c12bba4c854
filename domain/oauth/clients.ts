import type { Databases } from '../../db/databases.ts';
import { forgetReplies } from '../../db/http/idempotency.ts';
import type { KeyList } from '../../db/key-ring.ts';
import { endSessionsOfClient } from '../../db/identity/lookup/oauth-lookup.ts';
import { newClientSecret, newRegistrationToken } from '../../db/oauth/client-secrets.ts';
import { lockClient, newClientId, type ShownClient } from '../../db/oauth/clients.ts';
import { addClient, deleteClient as markDeleted, replaceSecret, storeDocument, type NewClient } from '../../db/oauth/write-clients.ts';
import { workspacesOf } from '../../db/caller-scope.ts';
import type { Scoped } from '../../db/scope.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import { nobodyTenant, systemActor, transact } from '../../db/transaction.ts';
import { fail } from '../../workflows/contracts/failure.ts';
import { isPrivateUri } from './redirect-uri.ts';

/** A client's metadata, checked. */
type Described = Omit<NewClient, 'clientId' | 'kind' | 'secretHash' | 'registrationHash'>;

/** A client that was created; the secret is shown only once, and is null for a public client. */
export interface MadeClient {
  readonly client: ShownClient;
  readonly secret: string | null;
}

/** Stores a client that registers itself (RFC 7591), and returns the token by which it reads and deletes its registration. */
export async function registerClient(
  tx: TenantTransaction,
  described: Described,
  peppers: KeyList,
): Promise<MadeClient & { readonly token: string }> {
  const metadata = publicIfNative(described);
  const token = newRegistrationToken();
  const secret = secretFor(metadata, peppers);
  const client = await addClient(tx, {
    ...metadata,
    clientId: newClientId(),
    kind: 'registered',
    secretHash: secret?.hash ?? null,
    registrationHash: token.hash,
  });
  return { client, secret: secret?.plaintext ?? null, token: token.plaintext };
}

/** Stores a client that an operator registers beforehand. */
export async function createClient(tx: TenantTransaction, described: Described, peppers: KeyList): Promise<MadeClient> {
  const secret = secretFor(described, peppers);
  const client = await addClient(tx, {
    ...described,
    clientId: newClientId(),
    kind: 'preregistered',
    secretHash: secret?.hash ?? null,
  });
  return { client, secret: secret?.plaintext ?? null };
}

/**
 * Stores the contents of a metadata document, and how long they are valid without another fetch. A client that an operator has deleted stays deleted, and
 * yields null.
 */
export async function keepDocument(
  db: Databases,
  client: Described & Pick<NewClient, 'clientId'>,
  kept: { readonly document: Readonly<Record<string, unknown>>; readonly lifeSeconds: number; readonly correlationId: string },
): Promise<ShownClient | null> {
  const { correlationId, ...stored } = kept;
  const { value } = await transact(db, { tenant: nobodyTenant, actor: systemActor, correlationId }, (tx) =>
    storeDocument(tx, { ...client, kind: 'document' }, stored),
  );
  return value;
}

/** Loads and locks a client that is about to change. Throws 404, and 403 for a client of a whole organization when the caller is limited to workspaces. */
export async function seeClientForChange(ctx: Scoped, clientId: string): Promise<ShownClient> {
  const client = await lockClient(ctx, clientId);

  if (!client) throw fail('not_found');
  if (client.workspaceId === null && workspacesOf(ctx.caller) !== null) throw fail('resource_forbidden');
  return client;
}

/**
 * Replaces the secret of a client, which the caller has locked: the old one is invalid at once, and so are the client's own tokens and streams that it
 * obtained. Throws 409 `public_client` for a client without a secret.
 */
export async function rotateClientSecret(
  tx: TenantTransaction,
  client: ShownClient,
  peppers: KeyList,
): Promise<{ readonly client: ShownClient; readonly secret: string }> {
  if (client.tokenEndpointAuthMethod === 'none')
    throw fail('state_conflict', { reason: 'public_client', detail: 'A public client has no secret.' });
  const secret = newClientSecret(peppers);
  const changed = await replaceSecret(tx, client.id, secret.hash);
  // Streams that the client opened for itself end too.
  tx.outgoing.revoked.push(`oauth_client:${client.id}`);
  return { client: changed, secret: secret.plaintext };
}

/** Deletes a client that registered itself, and ends every grant that users have given it. Returns false when it was deleted before. */
export async function unregisterClient(tx: TenantTransaction, client: Pick<ShownClient, 'id' | 'clientId'>): Promise<boolean> {
  if (!(await markDeleted(tx, client.id))) return false;
  await endSessionsOfClient(tx, client.clientId);
  return true;
}

/**
 * Deletes a client, which the caller has locked; ends every grant that users have given it, its own tokens and streams, and erases the stored replies that show
 * it.
 */
export async function deleteClient(tx: TenantTransaction, client: Pick<ShownClient, 'id' | 'clientId'>): Promise<void> {
  await markDeleted(tx, client.id);
  await forgetReplies(tx, [client.id]);
  await endSessionsOfClient(tx, client.clientId);
  tx.outgoing.revoked.push(`oauth_client:${client.id}`);
}

/**
 * An application with a private scheme runs on people's devices, where a secret is not secret: it becomes a public client, whatever it requested, and the reply
 * says so (RFC 8252 §8.5, RFC 7591 §3.2.1).
 */
function publicIfNative(described: Described): Described {
  return described.redirectUris.some(isPrivateUri) ? { ...described, tokenEndpointAuthMethod: 'none' } : described;
}

function secretFor({ tokenEndpointAuthMethod }: Described, peppers: KeyList) {
  return tokenEndpointAuthMethod === 'none' ? null : newClientSecret(peppers);
}
