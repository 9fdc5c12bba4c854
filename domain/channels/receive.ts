import { createHash } from 'node:crypto';
import { insertAwaited } from '../../db/attachments/awaited.ts';
import { insertAttachment } from '../attachments/attachments.ts';
import type { AttachmentRef } from '../../db/attachments/run-attachments.ts';
import { channelMessageBinding } from '../../db/encrypted-columns.ts';
import type { StoredChannelFile } from '../../db/channels/channel-message.entity.ts';
import { botsInARow, findRunInLine, findThread, insertMessage, settleMessage, storeFiles, storeToken } from '../../db/channels/messages.ts';
import type { FoundChannel } from '../../db/channels/open-channel.ts';
import { isAsked } from '../../db/channels/questions.ts';
import { findAnswered } from '../../db/channels/replies.ts';
import { wakeReply } from '../../db/channels/wake.ts';
import type { KeyRing } from '../../db/key-ring.ts';
import { newId } from '../../db/ids.ts';
import { addMessage } from '../runs/input/added-input.ts';
import { lockRun } from '../../db/runs/run-state.ts';
import type { RunInput } from '../../db/runs/read/run-view.ts';
import { lockNamedSession } from '../../db/runs/start/conversation-locks.ts';
import { startRuns, type StartedRun } from '../runs/start/start-run.ts';
import { encrypt } from '../../db/envelope.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import type { InboundMessage } from '../../ports/channels/inbound.ts';
import { Failure } from '../../workflows/contracts/failure.ts';
import { isAllowed } from './channel-rules.ts';
import { answerInChat } from './questions.ts';
import type { StartRun } from '../../db/runs/start/start-run.ts';

/**
 * The outcome of a message. `repeated`: it was received before; `ignored`: it gets no answer; `joined`: a waiting or working run gets it too; `answered`: it
 * answers the agent's question; `failed`: no run could be started.
 */
export type ReceivedMessage =
  | { readonly kind: 'repeated' | 'started' | 'joined' | 'answered' }
  | { readonly kind: 'ignored' | 'failed'; readonly reason: string };

export interface ReceiveDeps {
  readonly keys: Pick<KeyRing, 'keks'>;
  /** Currency in which the deployment prices usage. */
  readonly currency: string;
  /** Creates keys under which bytes of an organization are stored. */
  readonly newStorageKey: (organizationId: string) => string;
  /** Files are scanned before a run gets them. */
  readonly isScanned: boolean;
}

const maxKeyChars = 200;
const maxSubjectChars = 200;
/** The most consecutive messages of bots before a person has to write. */
const maxBotsInARow = 3;

/**
 * Receives a message of a channel: stores it, and starts a run with it unless it is ignored or joins a queued run. Of any number of equal messages one counts,
 * whatever process receives them. Throws only failures that may pass in a moment; the service then sends the message again.
 */
export async function receiveMessage(
  tx: TenantTransaction,
  deps: ReceiveDeps,
  { channel, message: given, hops }: Omit<Received, 'id'>,
): Promise<ReceivedMessage> {
  const id = newId();
  const { organizationId, workspaceId } = channel;
  const message = await placed(tx, channel.id, given);
  const { externalId, threadId, sender, text, route } = message;
  const place = { id, organizationId, workspaceId, channelId: channel.id };
  const said = { externalId, threadId, senderId: sender.id, senderName: sender.name, isBot: sender.isBot, text, route };
  if (!(await insertMessage(tx, { ...place, ...said }))) return { kind: 'repeated' };

  const reason = await reasonToIgnore(tx, channel, { id, message });
  if (reason !== null) {
    await settleMessage(tx, id, { status: 'ignored', runId: null, reason });
    return { kind: 'ignored', reason };
  }
  return answerMessage(tx, deps, { id, channel, message, hops });
}

/** An answer belongs to the thread of the message that it answers. In the sender's own conversation the earlier text is known, so the quotation is dropped. */
async function placed(tx: TenantTransaction, channelId: string, message: InboundMessage): Promise<InboundMessage> {
  const { reply, sender } = message;
  if (reply === undefined) return message;
  const known = await findThread(tx, { channelId, externalIds: reply.to, partIds: reply.partIds, senderId: sender.id });
  if (known === null) return message;
  return { ...message, threadId: known.threadId, text: known.isSenders && reply.text !== '' ? reply.text : message.text };
}

interface Received {
  readonly id: string;
  readonly channel: FoundChannel;
  readonly message: InboundMessage;
  /** How many hooks the cause has passed through before this message. */
  readonly hops: number;
}

async function reasonToIgnore(
  tx: TenantTransaction,
  channel: FoundChannel,
  { id, message }: { readonly id: string; readonly message: InboundMessage },
): Promise<string | null> {
  const { sender, threadId, isAddressed } = message;
  if (sender.isSelf) return 'own_message';
  if (message.refusal !== undefined) return message.refusal;
  if (message.text.trim() === '' && message.files.length === 0) return 'empty';
  if (sender.isBot) {
    if (!isAllowed(channel.allowedBots, sender.id)) return 'bot';
    if ((await botsInARow(tx, { channelId: channel.id, threadId, messageId: id })) >= maxBotsInARow) return 'bots_in_a_row';
  } else if (channel.allowedSenders.length > 0 && !isAllowed(channel.allowedSenders, sender.id)) return 'sender_not_allowed';
  if (channel.replyTo === 'all' || isAddressed) return null;
  // A person who was asked need not address the agent again.
  return (await isAsked(tx, channel.id, nameOf(channel, message))) ? null : 'not_addressed';
}

/** Subject and session key of the conversation that a message belongs to. */
function nameOf(channel: FoundChannel, message: InboundMessage): { readonly subjectId: string; readonly sessionKey: string } {
  return { subjectId: bounded(`${channel.kind}:${message.sender.id}`, maxSubjectChars), sessionKey: sessionKeyOf(channel, message) };
}

async function answerMessage(tx: TenantTransaction, deps: ReceiveDeps, { id, channel, message, hops }: Received): Promise<ReceivedMessage> {
  const { organizationId, workspaceId, agentId } = channel;
  const { subjectId, sessionKey } = nameOf(channel, message);
  // Locked first, so that of concurrent messages each sees what the preceding one has left.
  const subject = { kind: 'guest', id: subjectId } as const;
  const conversation = await lockNamedSession(tx, { organizationId, workspaceId, agentId, subject, sessionKey });
  const answered = await takeAnswer(tx, deps, { received: { id, channel, message, hops }, activeRunId: conversation.activeRunId });
  if (answered !== null) return answered;
  const inLine = conversation.activeRunId === null ? null : await findRunInLine(tx, conversation.id, channel.id);
  const input = await inputOf(tx, deps, { id, channel, message });
  if (inLine !== null && (await join(tx, inLine, input))) {
    await settleMessage(tx, id, { status: 'received', runId: inLine, reason: null });
    await wakeRun(tx, inLine);
    return { kind: 'joined' };
  }

  const start: StartRun = {
    workspaceId,
    defaultWorkspaceId: null,
    agent: { id: agentId },
    revisionId: null,
    personaSlug: channel.personaSlug,
    input,
    sessionKey,
    subject,
    source: 'channel',
    triggerId: channel.id,
    createdBy: { kind: 'system', id: null, actingUserId: null },
    onBusy: channel.onBusy,
    limits: {},
    metadata: {},
    currency: deps.currency,
    cause: { untrusted: true, hops },
  };
  const outcome = await begin(tx, start);
  if (outcome instanceof Failure) return refuse(tx, { id, organizationId, workspaceId }, outcome);

  const isSteered = outcome.admission === 'steered';
  await settleMessage(tx, id, { status: 'received', runId: outcome.run.id, reason: null });
  if (!isSteered && message.token !== null)
    await storeToken(tx, id, await encrypt(tx.em, deps.keys, channelMessageBinding(organizationId, id), Buffer.from(message.token)));
  if (isSteered) await wakeRun(tx, outcome.run.id);
  else await wakeReply(tx, { messageId: id, runId: outcome.run.id, organizationId, workspaceId });
  return { kind: isSteered ? 'joined' : 'started' };
}

interface MaybeAnswer {
  readonly received: Received;
  readonly activeRunId: string | null;
}

/** Null: the agent has asked no question. Files of an answer become input of the run. */
async function takeAnswer(
  tx: TenantTransaction,
  deps: ReceiveDeps,
  { received, activeRunId }: MaybeAnswer,
): Promise<ReceivedMessage | null> {
  const { id, channel, message } = received;
  const text = message.text.trim() === '' && message.files.length > 0 ? '(see the files)' : message.text;
  const answer = await answerInChat(tx, { activeRunId, channelId: channel.id, text, keys: deps.keys });
  if (answer.kind === 'none') return null;
  if (answer.kind === 'not_offered') {
    await settleMessage(tx, id, { status: 'failed', runId: null, reason: 'answer_not_offered' });
    await wakeReply(tx, { messageId: id, runId: null, organizationId: channel.organizationId, workspaceId: channel.workspaceId });
    return { kind: 'failed', reason: 'answer_not_offered' };
  }
  await settleMessage(tx, id, { status: 'received', runId: answer.runId, reason: null });
  const run = message.files.length === 0 ? null : await lockRun(tx, answer.runId);
  if (run) await addMessage(tx, run, { ...(await inputOf(tx, deps, received)), text: 'Files of the answer' });
  await wakeRun(tx, answer.runId);
  return { kind: 'answered' };
}

/** An unknown persona falls back to the agent's default. */
async function begin(tx: TenantTransaction, start: StartRun): Promise<StartedRun | Failure> {
  const [outcome] = await startRuns(tx, [start]);
  if (outcome === undefined) throw new Error('a start gave nothing');
  if (!(outcome instanceof Failure) || !outcome.errors.some(({ pointer }) => pointer === '/persona_slug')) return outcome;
  return begin(tx, { ...start, personaSlug: null });
}

/** Throws a retryable failure, so that the service sends the message again; any other failure ends the message, and the sender is notified. */
async function refuse(
  tx: TenantTransaction,
  { id, organizationId, workspaceId }: { readonly id: string; readonly organizationId: string; readonly workspaceId: string },
  failure: Failure,
): Promise<ReceivedMessage> {
  if (failure.retryable) throw failure;
  const { reason } = failure.context;
  const told = typeof reason === 'string' ? reason : failure.code;
  await settleMessage(tx, id, { status: 'failed', runId: null, reason: told });
  await wakeReply(tx, { messageId: id, runId: null, organizationId, workspaceId });
  return { kind: 'failed', reason: told };
}

/** Returns false when the run has begun meanwhile, or its input would become too large. */
async function join(tx: TenantTransaction, runId: string, input: RunInput): Promise<boolean> {
  const run = await lockRun(tx, runId);
  if (run?.status !== 'queued') return false;
  try {
    await addMessage(tx, run, input);
    return true;
  } catch (error) {
    if (error instanceof Failure && error.code === 'validation_failed') return false;
    throw error;
  }
}

async function wakeRun(tx: TenantTransaction, runId: string): Promise<void> {
  const answered = await findAnswered(tx, runId);
  if (answered) await wakeReply(tx, answered);
}

/** The input of the run: the text, and files that are still to be fetched. */
async function inputOf(
  tx: TenantTransaction,
  { newStorageKey, isScanned }: Pick<ReceiveDeps, 'newStorageKey' | 'isScanned'>,
  { id, channel, message }: Omit<Received, 'hops'>,
): Promise<RunInput> {
  const { organizationId, workspaceId } = channel;
  const stored: StoredChannelFile[] = [];
  const place = { organizationId, workspaceId, createdBy: { kind: 'system', id: channel.id } } as const;
  for (const file of message.files) {
    if ('stored' in file) {
      const { stored: bytes, ...named } = file;
      const made = await insertAttachment(tx, { ...place, ...bytes, purpose: 'run_input', isScanned });
      stored.push({ ...named, name: bytes.filename, mediaType: bytes.mediaType, attachmentId: made.id });
      continue;
    }
    const { name: filename, mediaType, bytes: sizeBytes } = file;
    const storageKey = newStorageKey(organizationId);
    stored.push({ ...file, attachmentId: await insertAwaited(tx, { ...place, filename, mediaType, sizeBytes, storageKey }) });
  }
  if (stored.length > 0) await storeFiles(tx, id, stored);
  const attachments = stored.map(({ attachmentId, name, mediaType, bytes }): AttachmentRef => ({
    attachment_id: attachmentId,
    media_type: mediaType,
    name,
    bytes,
  }));
  return {
    ...(message.text === '' && attachments.length > 0 ? {} : { text: message.text }),
    ...(attachments.length === 0 ? {} : { attachments }),
  };
}

/** Separates conversations of different channels; a long name is replaced by its hash. */
function sessionKeyOf({ id, sessionScope }: FoundChannel, { threadId, sender }: InboundMessage): string {
  return `channel:${id}:${bounded(sessionScope === 'peer' ? `peer:${sender.id}` : threadId, maxKeyChars)}`;
}

function bounded(text: string, maxChars: number): string {
  return text.length > maxChars ? createHash('sha256').update(text).digest('hex') : text;
}
