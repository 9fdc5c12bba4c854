import { createHash } from 'node:crypto';
import { cancellationSignal, Context } from '@temporalio/activity';
import { insertAttachment } from '../../domain/attachments/attachments.ts';
import { readSourceBytes } from '../../db/knowledge/sources/sources.ts';
import { readEgressAllowlist } from '../../db/tenancy/organizations/egress-policy.ts';
import { readIngestBase } from '../../domain/knowledge/sources/embed-staged.ts';
import { endFailed, endRead, lockIngest, setStage } from '../../domain/knowledge/sources/ingest-run.ts';
import { extractorOf } from '../../domain/knowledge/sources/sources.ts';
import { cleanFilename } from '../../ports/storage/attachment-bytes.ts';
import { mediaTypeOf } from '../../ports/egress/body-text.ts';
import { EgressRefused, EgressUndecodable, EgressUnreachable, type EgressResponse } from '../../ports/egress/egress.ts';
import { parseLimits } from '../../ports/parsing/parsed.ts';
import { newStorageKey } from '../../ports/storage/key.ts';
import { fail } from '../../workflows/contracts/failure.ts';
import type { IngestInput, IngestOutcome } from '../../workflows/contracts/knowledge/ingest.ts';
import type { ActivityDeps } from '../deps.ts';
import { transactAsSystem } from '../support/as-system.ts';
import { tenantOfActivity } from '../support/tenant.ts';

/** Tries of a server that does not answer, before the source fails. */
const maxTries = 4;

type Fetched =
  | { readonly kind: 'page'; readonly page: EgressResponse }
  | { readonly kind: 'refused'; readonly code: string; readonly detail: string };

/** Fetches the bytes of a page; ends the run when they are unchanged since the last sync. */
export async function fetchSource(deps: ActivityDeps, input: IngestInput): Promise<IngestOutcome> {
  const begun = await transactAsSystem(deps, async (tx) => {
    const found = await lockIngest(tx, input);
    if (!found) return null;
    setStage(tx, found, found.source.kind === 'url' ? 'fetching' : 'parsing');
    const { kind, uri, text, attachmentId } = found.source;
    const policy = { allowHttp: deps.env.allowHttp, exceptions: await readEgressAllowlist(tx, found.source.organizationId) };
    const bytes = attachmentId === null ? null : await readSourceBytes(tx, attachmentId);
    return { kind, uri, policy, hash: kind === 'text' ? sha256Of(text ?? '') : (bytes?.sha256 ?? '') };
  });
  if (begun === null) return 'ended';
  if (begun.kind !== 'url' || begun.uri === null) return settle(deps, input, { hash: begun.hash, stored: null });

  const fetched = await fetchPage(deps, begun.uri, begun.policy);
  if (fetched.kind === 'refused') return refuse(deps, input, fetched);
  const { page } = fetched;
  const storageKey = newStorageKey(tenantOfActivity().organizationId);
  await deps.storage.put(storageKey, [page.body], { signal: cancellationSignal() });
  const stored = { storageKey, page };
  return settle(deps, input, { hash: sha256Of(page.body), stored });
}

interface Found {
  readonly hash: string;
  readonly stored: { readonly storageKey: string; readonly page: EgressResponse } | null;
}

/** The attachment of a page expires after a day, since nothing references it; the bytes of an unchanged page have no row, and a sweep removes them. */
async function settle(deps: ActivityDeps, input: IngestInput, { hash, stored }: Found): Promise<IngestOutcome> {
  return transactAsSystem(deps, async (tx) => {
    const found = await lockIngest(tx, input);
    if (!found) return 'ended';
    const { source, run } = found;
    const base = await readIngestBase(tx, source.kbId);
    if (base && source.contentHash === hash && source.extractor === extractorOf(base)) {
      await endRead(tx, found, { unchanged: true });
      return 'ended';
    }
    run.params = { ...run.params, hash };
    if (stored === null || source.organizationId === null) return 'go_on';
    const { storageKey, page } = stored;
    const file = { filename: nameOfPage(page.url), mediaType: mediaTypeOf(page.headers['content-type'] ?? '') || 'text/html' };
    const size = { sizeBytes: page.body.byteLength, sha256: hash, storageKey };
    const rowScope = { organizationId: source.organizationId, workspaceId: source.workspaceId };
    const row = await insertAttachment(tx, {
      ...rowScope,
      ...file,
      ...size,
      purpose: 'knowledge',
      isScanned: false,
      // No person uploaded it: the creator of the source may no longer be allowed to read its base.
      createdBy: { kind: 'system', id: null },
    });
    run.attachmentId = row.id;
    return 'go_on';
  });
}

async function fetchPage(
  deps: ActivityDeps,
  url: string,
  policy: Parameters<ActivityDeps['egress']['fetch']>[0]['policy'],
): Promise<Fetched> {
  try {
    const headers = { accept: 'text/markdown, text/html;q=0.9, text/plain;q=0.9, application/pdf;q=0.8, */*;q=0.1' };
    const bounds = { redirects: 3, maxBytes: parseLimits.bytes, headersTimeoutMs: 30_000, signal: cancellationSignal() };
    const page = await deps.egress.fetch({ method: 'GET', url, headers, policy, ...bounds });
    if (page.isTruncated) return { kind: 'refused', code: 'payload_too_large', detail: 'The page has more than 25 MiB.' };
    if (page.status >= 200 && page.status <= 299) return { kind: 'page', page };
    if ((page.status === 429 || page.status >= 500) && Context.current().info.attempt < maxTries)
      throw fail('upstream_failed', { detail: `The server answered ${page.status}.` });
    return { kind: 'refused', code: 'upstream_failed', detail: `The server answered ${page.status}.` };
  } catch (error) {
    if (error instanceof EgressRefused)
      return { kind: 'refused', code: 'egress_refused', detail: `The address is not allowed: ${error.message}` };
    if (error instanceof EgressUndecodable) return { kind: 'refused', code: 'upstream_failed', detail: 'The answer cannot be decoded.' };
    if (!(error instanceof EgressUnreachable) || Context.current().info.attempt < maxTries) throw error;
    return { kind: 'refused', code: 'upstream_failed', detail: 'The server could not be reached.' };
  }
}

async function refuse(
  deps: ActivityDeps,
  input: IngestInput,
  { code, detail }: Extract<Fetched, { kind: 'refused' }>,
): Promise<IngestOutcome> {
  await transactAsSystem(deps, async (tx) => {
    const found = await lockIngest(tx, input);
    if (found) await endFailed(tx, found, { code, stage: 'fetching', detail });
  });
  return 'ended';
}

function nameOfPage(url: string): string {
  const { pathname, hostname } = new URL(url);
  const last = pathname.split('/').filter(Boolean).at(-1);
  try {
    return cleanFilename(last === undefined ? hostname.replaceAll('.', '-') : decodeURIComponent(last));
  } catch {
    return hostname.replaceAll('.', '-');
  }
}

function sha256Of(bytes: string | Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}
