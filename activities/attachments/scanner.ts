import type { RunFile } from '../../db/attachments/run-attachments.ts';
import { readBodyText } from '../../ports/egress/body-text.ts';
import type { EgressPolicy, EgressResponse } from '../../ports/egress/egress.ts';
import { readWhole } from '../../ports/storage/storage.ts';
import { cancellationSignal } from '@temporalio/activity';
import { fail } from '../../workflows/contracts/failure.ts';
import type { ActivityDeps } from '../deps.ts';
import { deadlineIn } from '../../ports/deadline.ts';

const maxAnswerBytes = 65_536;
/** Less than the timeout of its activity. */
const maxMs = 240_000;

/**
 * Has the operator's scanner check the bytes: POSTs them to `ATTACHMENT_SCAN_URL`, and a 200 with `{"verdict": "clean" | "infected"}` decides. Any other reply
 * decides nothing, and the request is retried; without a scanner, waiting files pass as ready.
 */
export async function askScanner(deps: ActivityDeps, file: RunFile & { readonly sha256: string }): Promise<'ready' | 'rejected'> {
  const { scan, maxBytes } = deps.env.attachments;
  if (scan === null) return 'ready';
  const body = await readWhole(
    deps.storage,
    { storageKey: file.storageKey, sizeBytes: file.sizeBytes },
    Math.max(maxBytes, file.sizeBytes),
  );
  const answer = await deps.egress.fetch({
    method: 'POST',
    url: scan.url,
    headers: {
      'content-type': file.mediaType,
      'x-attachment-id': file.id,
      'x-attachment-sha256': file.sha256,
      ...(scan.token === null ? {} : { authorization: `Bearer ${scan.token}` }),
    },
    body,
    policy: policyOf(scan.url),
    redirects: 0,
    maxBytes: maxAnswerBytes,
    headersTimeoutMs: maxMs,
    signal: AbortSignal.any([cancellationSignal(), deadlineIn(maxMs)]),
  });
  const verdict = answer.status === 200 ? verdictOf(answer) : null;
  if (verdict === null) throw fail('upstream_failed', { reason: 'no_verdict', detail: `The scanner gave no verdict (${answer.status}).` });
  return verdict === 'clean' ? 'ready' : 'rejected';
}

/** The operator configures the scanner, so its address may be internal. */
function policyOf(url: string): EgressPolicy {
  const { hostname, port, protocol } = new URL(url);
  return {
    allowHttp: false,
    exceptions: [{ host: hostname, port: port === '' ? null : Number(port), allow_http: protocol === 'http:' }],
  };
}

function verdictOf({ body, headers }: EgressResponse): 'clean' | 'infected' | null {
  try {
    const { verdict } = JSON.parse(readBodyText({ bytes: body, contentType: headers['content-type'] ?? 'application/json' }) ?? '') as {
      readonly verdict?: unknown;
    }; // any JSON may have come
    return verdict === 'clean' || verdict === 'infected' ? verdict : null;
  } catch {
    return null;
  }
}
