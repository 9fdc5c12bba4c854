import { readAnswered, type AnsweredMessage } from '../../db/channels/answered.ts';
import { readReportedRun, type PartRow } from '../../db/channels/part-queries.ts';
import { iso } from '../../db/sql.ts';
import { claimNextPart, releasePart, settlePart, verdictOfPart } from '../../domain/channels/parts.ts';
import { trySend } from '../../ports/channels/call-service.ts';
import { LookupFailed, type ChannelService, type SendOutcome, type ServicePart } from '../../ports/channels/service.ts';
import { serviceOf } from '../../ports/channels/services.ts';
import type { ChannelPartInput, ChannelPartStep } from '../../workflows/contracts/triggers/channels.ts';
import type { ActivityDeps } from '../deps.ts';
import { transactAsSystem } from '../support/as-system.ts';
import { wasFrozenSince } from '../support/process-freeze.ts';
import { maxFileMs, readyChannel, serviceDeps, tokenOf, type ReadyChannel } from './channel-deps.ts';
import { partFiles, type PartFiles } from './part-files.ts';

/** Makes the next try of a part, if it is due. */
export async function deliverPart(deps: ActivityDeps, input: ChannelPartInput): Promise<ChannelPartStep> {
  const startedAt = performance.now();
  const claim = await transactAsSystem(deps, async (tx) => {
    const message = await readAnswered(tx, input.messageId);
    const ready = message && (await readyChannel(deps, tx, message.channelId));
    if (!message || !ready) return null;
    const claimed = await claimNextPart(tx, input);
    if (claimed.state !== 'due') return claimed;
    const run = message.runId === null ? null : await readReportedRun(tx, message.runId);
    const files = await partFiles(deps, tx, { part: claimed.part, run, rule: serviceOf(ready.channel.kind).files });
    return { ...claimed, message, ready, hops: run?.hops ?? 0, files, token: await tokenOf(deps, tx, message) };
  });
  if (claim === null || claim.state === 'over') return { isOver: true };
  if (claim.state === 'waiting') return { isOver: false, waitMs: claim.waitMs };

  const { part, message, ready, isUncertain } = claim;
  // A process that was frozen since the claim may have been overtaken: it releases the part instead of sending it a second time.
  if (wasFrozenSince(startedAt)) return release(deps, part, { isUncertain, waitMs: 0 });
  if (claim.files.isScanned) return release(deps, part, { isUncertain, waitMs: scanWaitMs });
  const outgoing = outgoingOf(claim, claim);
  const gone = { result: 'refused', error: 'the file no longer exists' } as const;
  const outcome = claim.files.isDeleted ? gone : await send(deps, ready, { part, outgoing, isUncertain });
  const verdict = verdictOfPart(part, outcome, afterUncertainOf(ready, outgoing));
  await transactAsSystem(deps, (tx) => settlePart(tx, message, { part, verdict, at: deps.db.clock.now() }));
  report(deps, { part, ready, result: verdict.state });
  return verdict.delayMs === null ? { isOver: true } : { isOver: false, waitMs: verdict.delayMs };
}

/** Delay before the part is tried again while a file is being scanned. */
const scanWaitMs = 2_000;

interface Claimed {
  readonly part: PartRow;
  readonly message: AnsweredMessage;
  readonly ready: ReadyChannel;
}

function outgoingOf(
  { part, message, ready }: Claimed,
  { token, hops, files }: { readonly token: string | null; readonly hops: number; readonly files: PartFiles },
): ServicePart {
  const text = part.text ?? '';
  return {
    id: part.id,
    runId: message.runId ?? '',
    kind: part.kind,
    part: part.part,
    text,
    rendered: part.rendered ?? text,
    isPlain: part.isPlain,
    route: message.route,
    token,
    hasButtons: ready.channel.feedbackButtons && message.runId !== null && part.kind === 'reply' && part.part === 0,
    hops,
    since: new Date(iso(part.createdAt)),
    file: files.file,
    files: files.files,
  };
}

interface Sending {
  readonly part: PartRow;
  readonly outgoing: ServicePart;
  readonly isUncertain: boolean;
}

/** Returns how an uncertain try is resolved; an upload has a rule of its own. */
function afterUncertainOf({ channel }: ReadyChannel, { file }: ServicePart): 'again' | 'never' | Lookup {
  const service = serviceOf(channel.kind);
  if (file === null || service.files.kind !== 'upload') return service.afterUncertain;
  const { afterUncertain } = service.files;
  return afterUncertain === 'never' ? 'never' : (deps, known, part) => afterUncertain(deps, known, { ...part, file });
}

type Lookup = Exclude<ChannelService['afterUncertain'], string>;

async function send(deps: ActivityDeps, { channel, policy }: ReadyChannel, { part, outgoing, isUncertain }: Sending): Promise<SendOutcome> {
  const service = serviceOf(channel.kind);
  const afterUncertain = afterUncertainOf({ channel, policy }, outgoing);
  const { file } = outgoing;
  const sendNow = () => {
    const { files } = service;
    const known = serviceDeps(deps, policy, file === null && outgoing.files.length === 0 ? undefined : maxFileMs);
    if (file === null || files.kind !== 'upload') return service.send(known, channel, outgoing);
    return files.upload(known, channel, { ...outgoing, file });
  };
  if (part.externalId !== null && service.edit)
    return service.edit(serviceDeps(deps, policy), channel, { ...outgoing, externalId: part.externalId });
  if (!isUncertain || afterUncertain === 'again') return sendNow();
  if (afterUncertain === 'never') return { result: 'uncertain', error: 'an attempt was cut off, and the service can not be asked' };

  const found = await trySend(async () => {
    try {
      const externalId = await afterUncertain(serviceDeps(deps, policy), channel, outgoing);
      return externalId === null ? { result: 'failed', error: 'not there' } : { result: 'sent', externalId };
    } catch (error) {
      if (error instanceof LookupFailed) return { result: 'uncertain', error: `the look-up failed: ${error.message}` };
      throw error;
    }
  });
  // Sent again only when the service was asked and does not have it.
  if (found.result === 'failed' && found.error === 'not there') return sendNow();
  if (found.result !== 'sent') return { result: 'uncertain', error: found.error };
  // It may be a draft of the answer.
  const { externalId } = found;
  return file === null && externalId !== null && service.edit
    ? service.edit(serviceDeps(deps, policy), channel, { ...outgoing, externalId })
    : found;
}

interface Releasing {
  readonly isUncertain: boolean;
  readonly waitMs: number;
}

async function release(deps: ActivityDeps, part: PartRow, { isUncertain, waitMs }: Releasing): Promise<ChannelPartStep> {
  await transactAsSystem(deps, (tx) => releasePart(tx, part, isUncertain));
  return { isOver: false, waitMs };
}

/** Logs name the part, never its text or its destination. */
function report({ log }: ActivityDeps, { part, ready, result }: Pick<Claimed, 'part' | 'ready'> & { readonly result: string }): void {
  const level = result === 'failed' || result === 'unknown' ? 'warn' : 'info';
  log[level](
    { part_id: part.id, channel_id: ready.channel.id, kind: ready.channel.kind, attempt: part.attempts, result },
    'channel part tried',
  );
}
