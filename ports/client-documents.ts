import type { Egress } from './egress.ts';

/** A client's metadata document could not be had or is none; the message names no address. */
export class DocumentRefused extends Error {
  override readonly name = 'DocumentRefused';
}

/** A client's metadata document, and for how many seconds it may be believed. */
export interface ClientDocument {
  readonly document: Readonly<Record<string, unknown>>;
  readonly lifeSeconds: number;
}

/** Fetches the metadata documents by which OAuth clients name themselves (draft-ietf-oauth-client-id-metadata-document). */
export interface ClientDocuments {
  /**
   * The document behind a client_id. Of any number at once one asks. What fails (`faultOf` finds something wrong, too) is refused for 60 s
   * without asking again. Throws DocumentRefused.
   */
  fetch(clientId: string, faultOf: (document: Readonly<Record<string, unknown>>) => string | null): Promise<ClientDocument>;
}

const limitBytes = 5_120;
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
  const underWay = new Map<string, Promise<ClientDocument>>();

  const fetchOnce: ClientDocuments['fetch'] = async (clientId, faultOf) => {
    try {
      const found = await read(egress, clientId);
      const fault = faultOf(found.document);
      if (fault !== null) throw new DocumentRefused(fault);
      return found;
    } catch (error) {
      const [oldest] = failures.keys();
      if (failures.size >= failuresMax && oldest !== undefined) failures.delete(oldest);
      failures.set(clientId, now().getTime() + failureMs);
      throw error instanceof DocumentRefused ? error : new DocumentRefused('could not be fetched', { cause: error });
    } finally {
      underWay.delete(clientId);
    }
  };

  return {
    async fetch(clientId, faultOf) {
      if ((failures.get(clientId) ?? 0) > now().getTime()) throw new DocumentRefused('could not be used a moment ago');
      failures.delete(clientId);
      const running = underWay.get(clientId) ?? fetchOnce(clientId, faultOf);
      if (!underWay.has(clientId)) underWay.set(clientId, running);
      return running;
    },
  };
}

async function read(egress: Egress, clientId: string): Promise<ClientDocument> {
  const answer = await egress.fetch({
    method: 'GET',
    url: clientId,
    headers: { accept: 'application/json' },
    policy: { allowHttp: false, exceptions: [] },
    redirects: 0,
    limitBytes,
    signal: AbortSignal.timeout(timeoutMs),
  });

  if (answer.status !== 200) throw new DocumentRefused('was not answered with 200');
  if (answer.isTruncated) throw new DocumentRefused('is longer than 5 KB');
  if (!/^application\/(?:[a-z0-9.!#$&^_-]+\+)?json\b/i.test(answer.headers['content-type'] ?? '')) throw new DocumentRefused('is not JSON');
  const document: unknown = JSON.parse(answer.body.toString());

  if (typeof document !== 'object' || document === null || Array.isArray(document)) throw new DocumentRefused('is no object');
  if (!('client_id' in document) || document.client_id !== clientId) throw new DocumentRefused('names another client_id');
  return { document: { ...document }, lifeSeconds: lifeOf(answer.headers) };
}

/** What the headers allow, within 5 minutes and 24 hours (RFC 9111 §5). */
function lifeOf(headers: Readonly<Record<string, string>>): number {
  const control = headers['cache-control']?.toLowerCase() ?? '';
  const [, maxAge] = /(?:^|[\s,])max-age="?(\d{1,9})/.exec(control) ?? [];
  const expires = Date.parse(headers['expires'] ?? '');
  const asked = /no-store|no-cache/.test(control) ? 0 : maxAge !== undefined ? Number(maxAge) : (expires - Date.now()) / 1_000;
  const seconds = Number.isFinite(asked) ? asked : 0;

  return Math.round(Math.min(lifeSeconds.longest, Math.max(lifeSeconds.shortest, seconds)));
}
