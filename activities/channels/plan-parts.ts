import { readAnswered, type AnsweredMessage } from '../../db/channels/answered.ts';
import { openChannel, type OpenedChannel } from '../../db/channels/open-channel.ts';
import { readParts, readReportedRun, type ReportedRun } from '../../db/channels/part-queries.ts';
import { readOpenQuestion } from '../../db/channels/questions.ts';
import { firstFilePart } from '../../domain/channels/answer-files.ts';
import { reportOf, writeReport, type ChannelReport } from '../../domain/channels/channel-report.ts';
import { serviceOf } from '../../ports/channels/services.ts';
import type { SplitPart } from '../../ports/channels/split-work.ts';
import { WorkLimit } from '../../ports/untrusted/work-errors.ts';
import type { ChannelKind, ChannelPlan, ChannelReplyInput } from '../../workflows/contracts/triggers/channels.ts';
import { isTerminal, type RunStatus } from '../../workflows/contracts/runs/runs.ts';
import type { ActivityDeps } from '../deps.ts';
import { readAsSystem, transactAsSystem } from '../support/as-system.ts';

const nothing: ChannelPlan = { due: [], isOver: true, streams: false };

/** Writes the parts that are to be sent by now, and returns which of them have not been sent. */
export async function planParts(deps: ActivityDeps, { messageId }: ChannelReplyInput): Promise<ChannelPlan> {
  const found = await readAsSystem(deps, async (tx) => {
    const message = await readAnswered(tx, messageId);
    const channel = message && (await openChannel(tx, deps.keys, message.channelId));
    const run = message?.runId ? await readReportedRun(tx, message.runId) : null;
    const question = run?.waitingOn === 'input' ? await readOpenQuestion(tx, run.id) : null;
    return message && channel ? { message, channel, run, question } : null;
  });
  // Deleted with its channel, or erased with its run.
  if (!found || (found.message.runId !== null && found.run === null)) return nothing;

  const { message, channel, run, question } = found;
  const report = reportOf(run, { reason: message.reason, publicUrl: deps.env.publicUrl, question, files: serviceOf(channel.kind).files });
  await write(deps, { message, channel, report });
  const parts = await readAsSystem(deps, (tx) => readParts(tx, messageId));
  const open = parts.filter(({ state, text }) => text !== null && (state === 'pending' || state === 'sending'));
  return {
    due: open.map(({ kind, part }) => ({ kind, part })),
    isOver: run === null || isTerminal(run.status as RunStatus),
    streams: mayStream(channel, run),
  };
}

function mayStream({ kind, streaming }: OpenedChannel, run: ReportedRun | null): boolean {
  return streaming && serviceOf(kind).edit !== undefined && run?.status === 'running';
}

interface Telling {
  readonly message: AnsweredMessage;
  readonly channel: OpenedChannel;
  readonly report: ChannelReport;
}

async function write(deps: ActivityDeps, { message, channel, report }: Telling): Promise<void> {
  if (report.kind === 'nothing') return;
  const texts = report.markdown === null ? [] : await splitFor(deps, channel, report.markdown);
  const files = report.kind === 'reply' ? report.files : [];
  const parts = [...texts, ...files.map(({ name }, at) => ({ text: name, rendered: name, isPlain: true, part: firstFilePart + at }))];
  const { afterUncertain } = serviceOf(channel.kind);
  await transactAsSystem(deps, (tx) => writeReport(tx, message, { report, parts, afterUncertain }));
}

/** Splits in a child of the pool; a text that takes too long there is split as plain text. */
export async function splitFor(
  deps: Pick<ActivityDeps, 'work'>,
  { kind, organizationId }: { readonly kind: ChannelKind; readonly organizationId: string },
  markdown: string,
): Promise<SplitPart[]> {
  try {
    return await deps.work.run('chat', { organizationId, job: { kind, markdown: markdown.slice(0, maxChars) } });
  } catch (error) {
    if (!(error instanceof WorkLimit)) throw error;
    return deps.work.run('chat', { organizationId, job: { kind, markdown: markdown.slice(0, maxChars), isPlain: true } });
  }
}

/** More characters than a model writes. */
const maxChars = 2_000_000;
