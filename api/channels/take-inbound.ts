import type { IncomingHttpHeaders } from 'node:http';
import { nobody } from '../../domain/identity/callers/caller.ts';
import type { Caller } from '../../db/caller.ts';
import { findChannel, secretsOfFound, type FoundChannel } from '../../db/channels/open-channel.ts';
import type { Inbound, InboundChannel, InboundRequest } from '../../ports/channels/inbound.ts';
import { readDiscord } from '../../ports/channels/read-discord.ts';
import { readSlack } from '../../ports/channels/read-slack.ts';
import { readTelegram } from '../../ports/channels/read-telegram.ts';
import { readWebhook, Unreadable } from '../../ports/channels/read-webhook.ts';
import { verifyInbound } from '../../ports/channels/verify.ts';
import { parseHookBody } from '../../ports/hooks/body.ts';
import { fail, invalid } from '../../workflows/contracts/failure.ts';
import { hopsHeader, hopsOf, maxHops } from '../../workflows/contracts/triggers/hops.ts';
import type { IdentifyRequest } from '../http/operation/context.ts';
import { takeMail } from './take-mail.ts';

/** A request to a channel once it has been judged, before its transaction. */
export interface TakenInbound {
  readonly caller: Caller;
  readonly channel: FoundChannel;
  readonly inbound: Inbound;
  /** How many hooks its cause has come through before this one. */
  readonly hops: number;
}

type Asked = Pick<IdentifyRequest, 'deps' | 'limits' | 'limitAddress'>;

/**
 * The steps of a message that come before its transaction: channel, proof, reading. One query. Throws 404 for an address that takes nothing, 401 `signature_invalid`,
 * 429 for many of these, 400 and 422 for a body that can't be read, 409 `loop`.
 */
export async function takeInbound(
  { deps, limits, limitAddress }: Asked,
  { channelId, headers, body }: { readonly channelId: string; readonly headers: IncomingHttpHeaders; readonly body: Buffer },
): Promise<TakenInbound> {
  const channel = await findChannel(deps.db, channelId);
  if (!channel) throw fail('not_found');
  const secrets = secretsOfFound(channel, deps.keys);
  const { settings, identity, nowMs, kind } = channel;
  const request = { headers: flat(headers), body };

  if (verifyInbound(kind, request, { settings, secrets, nowMs }) !== 'valid') {
    await limits.consume([{ policy: 'ingress', key: `${channel.id}:${limitAddress}` }]);
    throw fail('signature_invalid');
  }
  const hops = hopsOf(request.headers[hopsHeader]);
  if (hops >= maxHops)
    throw fail('state_conflict', { reason: 'loop', detail: 'The request has passed through too many hooks of this deployment.' });
  return {
    caller: callerOf(channel),
    channel,
    inbound: await read(deps, channel, { request, read: { settings, secrets, identity } }),
    hops,
  };
}

/** Bytes of what a service sends, mails apart. */
const maxBodyBytes = 1_048_576;

interface Asking {
  readonly request: InboundRequest;
  readonly read: InboundChannel;
}

async function read(deps: Asked['deps'], found: FoundChannel, { request, read: channel }: Asking): Promise<Inbound> {
  const { kind } = found;
  if (kind === 'email') return { kind: 'message', message: await takeMail(deps, found, request) };
  if (request.body.length > maxBodyBytes) throw fail('payload_too_large', { context: { limit_bytes: maxBodyBytes } });
  const body = parseHookBody(request.body, request.headers['content-type']);
  switch (kind) {
    case 'slack':
      return readSlack(ofButtons(body), channel);
    case 'telegram':
      return readTelegram(body, channel);
    case 'discord':
      return readDiscord(body);
    case 'webhook':
      return readWebhookBody(body, request);
    default:
      return kind satisfies never;
  }
}

/** Slack sends what people press as a form with JSON in one field. */
function ofButtons(body: unknown): unknown {
  const payload: unknown = typeof body === 'object' && body !== null ? Reflect.get(body, 'payload') : undefined;
  return typeof payload === 'string' ? parseHookBody(Buffer.from(payload), 'application/json') : body;
}

function readWebhookBody(body: unknown, { headers }: InboundRequest): Inbound {
  try {
    return readWebhook(body, headers['webhook-id'] ?? '');
  } catch (error) {
    if (error instanceof Unreadable) throw invalid(error.pointer, 'invalid', error.message);
    throw error;
  }
}

function flat(headers: IncomingHttpHeaders): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : value]));
}

/** The channel as caller: it can see its workspace, and no operation checks its role. */
function callerOf({ id, organizationId, workspaceId }: FoundChannel): Caller {
  return { ...nobody, kind: 'ingress', principalId: id, organizationId, workspaceId, workspaces: new Map([[workspaceId, 'viewer']]) };
}
