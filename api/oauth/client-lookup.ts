import { findClient, type FoundClient } from '../../db/identity/lookup/oauth-lookup.ts';
import { keepDocument } from '../../domain/oauth/clients.ts';
import { DocumentRefused, isDocumentUrl, type ClientDocument } from '../../ports/egress/client-documents.ts';
import { Failure } from '../../workflows/contracts/failure.ts';
import { OauthFailure } from '../http/credentials/oauth-failure.ts';
import type { IdentifyRequest } from '../http/operation/operation.ts';
import { findForbiddenText } from '../http/input/text-scan.ts';
import { validatorFor } from '../http/input/validator.ts';
import { clientDocumentsOf } from './dependencies.ts';
import { acceptMetadata, ClientRegistrationRequest, type AcceptedMetadata, type ClientMetadata } from './client-metadata.ts';

type Asking = Pick<IdentifyRequest, 'deps' | 'correlationId'>;

const shape = validatorFor(ClientRegistrationRequest, 'body');

/**
 * Returns the client of an authorization request. If its id is the URL of a metadata document, reads and stores the document, unless the stored one is still
 * fresh. Throws 400 `invalid_client`, without a reason.
 */
export async function clientOfAuthorization(asking: Asking, clientId: string): Promise<FoundClient> {
  const found = await findClient(asking.deps.db, clientId);
  const isDocument = isDocumentUrl(clientId);

  if (found?.isDeleted || (isDocument && !asking.deps.env.oauth.clientDocuments)) throw unknownClient();
  if (!isDocument || found?.isDocumentFresh) return found ?? refuseUnknown();
  await readDocument(asking, clientId);
  return (await findClient(asking.deps.db, clientId)) ?? refuseUnknown();
}

async function readDocument({ deps, correlationId }: Asking, clientId: string): Promise<void> {
  const keep = async ({ document, lifeSeconds }: ClientDocument): Promise<void> => {
    const fault = faultOfDocument(document);
    if (fault !== null) throw new DocumentRefused(fault);
    await keepDocument(deps.db, { ...accept(document), clientId }, { document, lifeSeconds, correlationId });
  };
  try {
    // Another request may have stored it since the lookup above.
    const isStored = async () => (await findClient(deps.db, clientId))?.isDocumentFresh === true;
    await clientDocumentsOf(deps).read(clientId, { isStored, keep });
  } catch (error) {
    if (!(error instanceof DocumentRefused)) throw error;
    deps.log.info({ reason: error.message }, 'client metadata document refused');
    throw unknownClient();
  }
}

/** Returns why a document can't describe a client, or null. It must follow the rules of registration, and it can hold no secret. */
function faultOfDocument(document: Readonly<Record<string, unknown>>): string | null {
  if (shape.check(document, false).length > 0) return 'has members of the wrong type';
  if (findForbiddenText(document).pointers.length > 0) return 'contains text that cannot be stored';
  if ('client_secret' in document) return 'contains a secret';
  try {
    return accept(document).tokenEndpointAuthMethod === 'none'
      ? null
      : 'asks for an authentication method that a public document cannot use';
  } catch (error) {
    if (error instanceof Failure) return error.detail;
    throw error;
  }
}

function accept(document: Readonly<Record<string, unknown>>): AcceptedMetadata {
  // `faultOfDocument` has checked its shape.
  return acceptMetadata(document as ClientMetadata, ['authorization_code']);
}

function refuseUnknown(): never {
  throw unknownClient();
}

function unknownClient(): OauthFailure {
  return new OauthFailure('oauth_request_invalid', 'invalid_client', { detail: 'The client is unknown.' });
}
