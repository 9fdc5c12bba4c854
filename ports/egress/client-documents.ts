import type { Egress, EgressResponse } from './egress.ts';
import { deadlineIn } from '../deadline.ts';

/** A client's metadata document could not be fetched or is invalid; the message names no address. */
export class DocumentRefused extends Error {
  override readonly name = 'DocumentRefused';
}

/** A client's metadata document, and for how many seconds it may be used. */
export interface ClientDocument {
  readonly document: Readonly<Record<string, unknown>>;
  readonly lifeSeconds: number;
}

/** Where documents are stored. */
export interface DocumentStore {
  /** Whether the document has been stored since the lookup, and is still valid. */
  isStored(): Promise<boolean>;
  /** Validates and stores a document. */
  keep(found: ClientDocument): Promise<void>;
}

/** Fetches the metadata documents by which OAuth clients identify themselves (draft-ietf-oauth-client-id-metadata-document). */
export interface ClientDocuments {
  /**
   * Fetches the document of a client_id and passes it to the store, unless the store has it by now. Of concurrent calls only one fetches. A DocumentRefused,
   * also one that `keep` throws, is repeated for 60 s without fetching again. Throws DocumentRefused, or what the store throws.
   */
  read(clientId: string, store: DocumentStore): Promise<void>;
}

const maxBytes = 5_120;
const timeoutMs = 3_000;
const failureMs = 60_000;
const failuresMax = 1_000;
const lifeSeconds = { shortest: 300, longest: 86_400 } as const;

/** Whether a client_id is the URL of a document: https with a path, in its normal form, without fragment and userinfo. */
export function isDocumentUrl(clientId: string): boolean {
  if (!clientId.startsWith('https://') || !URL.canParse(clientId)) return false;
  const url = new URL(clientId);
  const isPlain = url.href === clientId && !clientId.includes('#') && url.username === '' && url.password === '';
  return isPlain && url.pathname !== '/';
}

export function createClientDocuments({ egress, now }: { egress: Egress; now: () => Date }): ClientDocuments {
  const failures = new Map<string, number>();
  const underWay = new Map<string, Promise<void>>();

  const recordFailure = (clientId: string): void => {
    const [oldest] = failures.keys();
    if (failures.size >= failuresMax && oldest !== undefined) failures.delete(oldest);
    failures.set(clientId, now().getTime() + failureMs);
  };
  const readOnce: ClientDocuments['read'] = async (clientId, store) => {
    try {
      if (!(await store.isStored())) await store.keep(await fetchDocument(egress, clientId));
    } catch (error) {
      if (error instanceof DocumentRefused) recordFailure(clientId);
      throw error;
    } finally {
      underWay.delete(clientId);
    }
  };

  return {
    async read(clientId, store) {
      if ((failures.get(clientId) ?? 0) > now().getTime()) throw new DocumentRefused('could not be used a moment ago');
      failures.delete(clientId);
      const running = underWay.get(clientId) ?? readOnce(clientId, store);
      if (!underWay.has(clientId)) underWay.set(clientId, running);
      return running;
    },
  };
}

async function fetchDocument(egress: Egress, clientId: string): Promise<ClientDocument> {
  const answer = await ask(egress, clientId);

  if (answer.status !== 200) throw new DocumentRefused('was not answered with 200');
  if (answer.isTruncated) throw new DocumentRefused('is longer than 5 KB');
  if (!/^application\/(?:[a-z0-9.!#$&^_-]+\+)?json\b/i.test(answer.headers['content-type'] ?? '')) throw new DocumentRefused('is not JSON');
  const document = parse(answer.body);

  if (typeof document !== 'object' || document === null || Array.isArray(document)) throw new DocumentRefused('is not an object');
  if (!('client_id' in document) || document.client_id !== clientId) throw new DocumentRefused('names another client_id');
  return { document: { ...document }, lifeSeconds: lifeOf(answer.headers) };
}

async function ask(egress: Egress, clientId: string): Promise<EgressResponse> {
  const request = {
    method: 'GET',
    url: clientId,
    headers: { accept: 'application/json' },
    policy: { allowHttp: false, exceptions: [] },
    redirects: 0,
    maxBytes,
    signal: deadlineIn(timeoutMs),
  };
  try {
    return await egress.fetch(request);
  } catch (error) {
    throw new DocumentRefused('could not be fetched', { cause: error });
  }
}

function parse(body: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch {
    throw new DocumentRefused('is not JSON');
  }
}

/** Returns the lifetime that the headers allow, between 5 minutes and 24 hours (RFC 9111 §5). */
function lifeOf(headers: Readonly<Record<string, string>>): number {
  const control = headers['cache-control']?.toLowerCase() ?? '';
  const [, maxAge] = /(?:^|[\s,])max-age="?(\d{1,9})/.exec(control) ?? [];
  const expires = Date.parse(headers['expires'] ?? '');
  const asked = /no-store|no-cache/.test(control) ? 0 : maxAge !== undefined ? Number(maxAge) : (expires - Date.now()) / 1_000;
  const seconds = Number.isFinite(asked) ? asked : 0;

  return Math.round(Math.min(lifeSeconds.longest, Math.max(lifeSeconds.shortest, seconds)));
}
