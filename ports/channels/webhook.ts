import { hopsHeader } from '../../workflows/contracts/triggers/hops.ts';
import { refusalOfUrl } from '../egress/url.ts';
import { signatureHeaders } from '../hooks/webhook-signature.ts';
import { trySend } from './call-service.ts';
import type { ChannelService } from './service.ts';

/** A system of the tenant: each part is posted, signed according to Standard Webhooks. */
export const webhook: ChannelService = {
  send: (deps, { settings, secrets }, { id, runId, kind, part, text, route, hops, files }) =>
    trySend(async () => {
      const timestampS = Math.floor(Date.now() / 1_000);
      const attachments = files.map(({ attachmentId, name, mediaType, bytes }) => ({
        attachment_id: attachmentId,
        name,
        media_type: mediaType,
        bytes,
      }));
      const data = {
        run_id: runId,
        thread_id: route['thread_id'] ?? null,
        kind,
        part,
        text,
        ...(attachments.length === 0 ? {} : { attachments }),
      };
      const body = JSON.stringify({ type: 'channel.message', timestamp: new Date(timestampS * 1_000).toISOString(), data });
      const answer = await deps.egress.fetch({
        method: 'POST',
        url: settings.outbound_url ?? '',
        headers: {
          'content-type': 'application/json',
          ...signatureHeaders([secrets['signing_secret'] ?? ''], { id, timestampS, body }),
          [hopsHeader]: String(hops + 1),
        },
        body,
        policy: deps.policy,
        redirects: 0,
        maxBytes: 0,
        headersTimeoutMs: 15_000,
        signal: deps.signal,
      });
      const { status, headers } = answer;
      if (status >= 200 && status < 300) return { result: 'sent', externalId: null };
      const error = `HTTP ${status}`;
      if (status === 429) return { result: 'limited', retryAfterS: Math.min(Number(headers['retry-after']) || 1, 3_600), error };
      return { result: status >= 400 && status < 500 && status !== 408 ? 'refused' : 'uncertain', error };
    }),
  // Only their names: the tenant's system reads the files with its own key.
  files: { kind: 'with_text', maxBytes: Infinity },
  // The receiver recognizes it by webhook-id.
  afterUncertain: 'again',
  check: async (deps, { settings }) => {
    const refusal = refusalOfUrl(settings.outbound_url ?? '', deps.policy);
    return { checks: [{ name: 'outbound_url', ok: refusal === null, detail: refusal ?? 'may be reached' }], identity: null };
  },
  routeTo: (to) => ({ thread_id: to }),
  fileAt: async (deps, _channel, source) => ({ url: source, headers: {}, policy: deps.policy }),
};
