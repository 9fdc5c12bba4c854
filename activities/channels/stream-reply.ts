import { setTimeout as delay } from 'node:timers/promises';
import { cancellationSignal } from '@temporalio/activity';
import { readAnswered, type AnsweredMessage } from '../../db/channels/answered.ts';
import { readDraft, type DraftRow } from '../../db/channels/draft-queries.ts';
import { readReportedRun } from '../../db/channels/part-queries.ts';
import { openDraft, settleDraft } from '../../domain/channels/parts.ts';
import { serviceOf } from '../../ports/channels/services.ts';
import type { SendOutcome, ServicePart } from '../../ports/channels/service.ts';
import type { ChannelReplyInput } from '../../workflows/contracts/triggers/channels.ts';
import type { ActivityDeps } from '../deps.ts';
import { readAsSystem, transactAsSystem } from '../support/as-system.ts';
import { readyChannel, serviceDeps, tokenOf, type ReadyChannel } from './channel-deps.ts';
import { splitFor } from './plan-parts.ts';
import { newestOpenText } from '../../db/streams/open-messages.ts';

const pollEveryMs = 1_000;
/** Below this, each word would become a message. */
const minChars = 40;

interface Shown extends ReadyChannel {
  readonly message: AnsweredMessage;
  readonly runId: string;
  readonly token: string | null;
}

/** How many growing answers a process shows at once: the runs that write them need its activities, too. */
const maxAtOnce = 15;

/** Shows answers while they grow, up to the limit of the process. */
export function createDrafts(deps: ActivityDeps): { show(input: ChannelReplyInput): Promise<void> } {
  let open = 0;
  return {
    async show(input) {
      if (open >= maxAtOnce) return;
      open += 1;
      try {
        await streamReply(deps, input);
      } finally {
        open -= 1;
      }
    },
  };
}

/**
 * Shows the answer of a run while it grows: one message, edited at most once a second, with the first part of the text so far. Best effort: the final answer
 * makes up for a failure here. Ends when the run has ended or waits.
 */
async function streamReply(deps: ActivityDeps, { messageId }: ChannelReplyInput): Promise<void> {
  const shown = await readAsSystem(deps, async (tx): Promise<Shown | null> => {
    const message = await readAnswered(tx, messageId);
    const ready = message && (await readyChannel(deps, tx, message.channelId));
    if (!message?.runId || !ready) return null;
    return { ...ready, message, runId: message.runId, token: await tokenOf(deps, tx, message) };
  });
  if (!shown) return;
  const signal = cancellationSignal();
  for (let said = ''; ;) {
    await delay(pollEveryMs, undefined, { signal });
    const now = await readAsSystem(deps, async (tx) => ({
      run: await readReportedRun(tx, shown.runId),
      text: await newestOpenText(tx, shown.runId),
    }));
    if (now.run?.status !== 'running') return;
    if (now.text.trim().length < minChars || now.text === said) continue;
    said = now.text;
    const waitMs = await show(deps, shown, said);
    if (waitMs === null) return;
    if (waitMs > 0) await delay(waitMs, undefined, { signal });
  }
}

/** Posts a text to the thread, or replaces the previous one. Returns how long the service wants no further edit; null: it accepts no drafts. */
async function show(deps: ActivityDeps, shown: Shown, text: string): Promise<number | null> {
  const { channel, policy, message } = shown;
  const [part] = await splitFor(deps, channel, text);
  if (!part) return 0;
  const service = serviceOf(channel.kind);
  const draft = (await readAsSystem(deps, (tx) => readDraft(tx, message.id))) ?? null;
  if (draft?.externalId && service.edit) {
    const edited = await service.edit(serviceDeps(deps, policy), channel, { ...partOf(shown, draft, part), externalId: draft.externalId });
    return pauseOf(edited);
  }
  const claimed = await transactAsSystem(deps, (tx) => openDraft(tx, message));
  // The answer itself has begun, or another attempt did not record what happened to its message.
  if (!claimed) return null;
  const sent = await service.send(serviceDeps(deps, policy), channel, partOf(shown, claimed, part));
  await transactAsSystem(deps, (tx) => settleDraft(tx, claimed, sent));
  return pauseOf(sent);
}

function partOf(
  { message, runId, token }: Shown,
  draft: DraftRow,
  { text, rendered, isPlain }: { readonly text: string; readonly rendered: string; readonly isPlain: boolean },
): ServicePart {
  const { id, createdAt } = draft;
  const place = { id, runId, kind: 'reply', part: 0, route: message.route, token } as const;
  return {
    ...place,
    text: `${text} …`,
    rendered: `${rendered} …`,
    isPlain,
    hasButtons: false,
    hops: 0,
    since: createdAt,
    file: null,
    files: [],
  };
}

function pauseOf(outcome: SendOutcome): number | null {
  if (outcome.result === 'sent') return 0;
  return outcome.result === 'limited' ? Math.ceil(outcome.retryAfterS * 1_000) : null;
}
