import type { Static } from 'typebox';
import type { ChannelRow } from '../../db/channels/channels.ts';
import { openChannel, type OpenedChannel } from '../../db/channels/open-channel.ts';
import { newId } from '../../db/ids.ts';
import { readEgressAllowlist } from '../../db/tenancy/organizations/egress-policy.ts';
import { transact } from '../../db/transaction.ts';
import { recordTest } from '../../domain/channels/state.ts';
import { partLimits } from '../../ports/channels/limits.ts';
import type { SendOutcome, ServiceCheck, ServiceDeps } from '../../ports/channels/service.ts';
import { serviceOf } from '../../ports/channels/services.ts';
import { deadlineIn } from '../../ports/deadline.ts';
import { EgressRefused, EgressUnreachable, type EgressPolicy } from '../../ports/egress/egress.ts';
import type { ChannelRoute } from '../../workflows/contracts/triggers/channels.ts';
import { fail, invalid } from '../../workflows/contracts/failure.ts';
import type { Ctx } from '../http/operation/operation.ts';
import type { ChannelTestView } from './channel.schema.ts';

type Result = Static<typeof ChannelTestView>;

interface PreparedTest {
  readonly channel: OpenedChannel;
  readonly policy: EgressPolicy;
  readonly message: { readonly route: ChannelRoute; readonly text: string } | null;
}

const maxMs = 20_000;

/** Reads what a test needs, within the request's transaction. Throws 422 for a place that the service has not. */
export async function prepareTest(
  ctx: Ctx,
  { id, kind, organizationId, name }: ChannelRow,
  { sendTo, text }: { readonly sendTo: string | null; readonly text: string | null },
): Promise<PreparedTest> {
  const route = sendTo === null ? null : serviceOf(kind).routeTo(sendTo);
  if (sendTo !== null && route === null) throw invalid('/send_to', 'pattern', `does not name a destination of kind ${kind}`);
  const channel = await openChannel(ctx, ctx.deps.keys, id);
  if (!channel) throw fail('not_found');
  const policy = { allowHttp: ctx.deps.env.allowHttp, exceptions: await readEgressAllowlist(ctx, organizationId) };
  return { channel, policy, message: route && { route, text: text ?? `This is a test of the channel ${name}.` } };
}

/** Checks the credentials with the service and sends the message; holds no connection meanwhile. */
export async function testService(ctx: Ctx, { channel, policy, message }: PreparedTest): Promise<Result> {
  const { egress, env } = ctx.deps;
  const deps: ServiceDeps = { egress, urls: env.channelUrls, policy, signal: deadlineIn(maxMs) };
  const service = serviceOf(channel.kind);
  const asked = await service.check(deps, channel).catch((error: unknown) => unreachable(channel.kind, error));
  const sent =
    message && asked.checks.every(({ ok }) => ok) ? await service.send(deps, channel, partOf(channel, message, ctx.deps.now())) : null;
  const checks = [...asked.checks, ...(sent ? [checkOf(sent)] : [])].map((check) => ({ ...check, detail: check.detail.slice(0, 300) }));
  const ok = checks.every((check) => check.ok);
  const fault = checks.find((check) => !check.ok);
  await transact(ctx.deps.db, ctx, (tx) =>
    recordTest(tx, channel.id, ok ? null : fault ? `${fault.name}: ${fault.detail}` : 'nothing was checked'),
  );
  return { ok, checks, identity: asked.identity, sent_message_id: sent?.result === 'sent' ? sent.externalId : null };
}

function partOf({ kind }: OpenedChannel, { route, text }: NonNullable<PreparedTest['message']>, since: Date) {
  const place = { id: newId(), runId: '', kind: 'notice', part: 0, route, token: null } as const;
  return {
    ...place,
    text,
    rendered: partLimits[kind].render(text),
    isPlain: true,
    hasButtons: false,
    hops: 0,
    since,
    file: null,
    files: [],
  };
}

function checkOf(sent: SendOutcome): ServiceCheck {
  return { name: 'send', ok: sent.result === 'sent', detail: sent.result === 'sent' ? 'sent' : sent.error };
}

function unreachable(kind: string, error: unknown): { readonly checks: ServiceCheck[]; readonly identity: null } {
  const isReported = error instanceof EgressRefused || error instanceof EgressUnreachable;
  const isLate = error instanceof Error && error.name === 'TimeoutError';
  if (!isReported && !isLate) throw error;
  return { checks: [{ name: kind, ok: false, detail: isReported ? error.message : 'no answer in time' }], identity: null };
}
