import type { AnsweredMessage } from '../../db/channels/answered.ts';
import { writeNotice, writeReplyParts, type PartText } from '../../db/channels/outbound.ts';
import { leaveDraft } from '../../db/channels/drafts.ts';
import type { ReportedRun } from '../../db/channels/part-queries.ts';
import type { ChannelQuestion } from '../../db/channels/questions.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import type { ChannelService } from '../../ports/channels/service.ts';
import { isTerminal, type RunStatus } from '../../workflows/contracts/runs/runs.ts';
import { sortFiles, type AnswerFileName } from './answer-files.ts';
import { askedInChat } from './questions.ts';

/** What is to be posted about a run now. */
export type ChannelReport =
  /** The answer, in Markdown, and files that are separate messages; null: there is none. */
  | { readonly kind: 'reply'; readonly markdown: string | null; readonly files: readonly AnswerFileName[] }
  | { readonly kind: 'notice'; readonly number: number; readonly markdown: string }
  | { readonly kind: 'nothing' };

/** Waits that people can end; a run's own timer is not posted. */
const waits: Readonly<Record<string, string>> = {
  approval: 'It is waiting for a step to be approved',
  input: 'It is waiting for an answer to a question',
  auth: 'It is waiting for an account to be connected',
  budget: 'It is waiting because a budget is used up',
};

interface ReportOptions {
  /** Why a message could not start a run. */
  readonly reason: string | null;
  readonly publicUrl: string | null;
  /** How the service accepts files. */
  readonly files: ChannelService['files'];
  /** The run's question, if it waits for an answer that its thread may give. */
  readonly question: ChannelQuestion | null;
}

/** Returns what is to be posted about a run, or about a message that could not start one. */
export function reportOf(run: ReportedRun | null, { reason, publicUrl, question, files }: ReportOptions): ChannelReport {
  if (run === null) return { kind: 'notice', number: 0, markdown: refusalOf(reason) };
  const link = publicUrl === null ? '' : ` ${publicUrl}/runs/${run.id}`;
  if (isTerminal(run.status as RunStatus)) {
    if (run.status === 'failed') return { kind: 'notice', number: 0, markdown: `The answer failed (${run.errorCode ?? 'limit'}).${link}` };
    return replyOf(run, { files, link });
  }
  // The person who is asked answers in the thread; other waits are for people who may see the run.
  if (run.status === 'waiting' && run.waitingOn === 'input' && question !== null)
    return { kind: 'notice', number: question.number, markdown: askedInChat(question) };
  const what = run.status === 'waiting' ? waits[run.waitingOn ?? ''] : undefined;
  if (what === undefined || run.waitingSinceS === null) return { kind: 'nothing' };
  return { kind: 'notice', number: run.waitingSinceS, markdown: `${what}.${link}` };
}

function refusalOf(reason: string | null): string {
  if (reason === 'answer_not_offered')
    return 'This is not one of the possible answers. Please answer with the number or the text of one of them.';
  return `This message could not be answered (${reason ?? 'unknown'}).`;
}

function replyOf(
  run: ReportedRun,
  { files: rule, link }: { readonly files: ChannelService['files']; readonly link: string },
): ChannelReport {
  const { sent, tooLarge } = sortFiles(run.output?.attachments, rule);
  const names = (files: readonly AnswerFileName[]) => files.map(({ name }) => name).join(', ');
  const text = answerOf(run) ?? (sent.length === 0 ? null : `${sent.length === 1 ? 'A file' : 'Files'}: ${names(sent)}`);
  const note = tooLarge.length === 0 ? null : `Too large to send here: ${names(tooLarge)}.${link}`;
  const markdown = [text, note].filter((part) => part !== null).join('\n\n');
  return { kind: 'reply', markdown: markdown === '' ? null : markdown, files: rule.kind === 'upload' ? sent : [] };
}

function answerOf({ output }: ReportedRun): string | null {
  const text = output?.text ?? '';
  if (text.trim() !== '') return text;
  const json = output?.json ?? null;
  return json === null ? null : `\`\`\`json\n${JSON.stringify(json, null, 2)}\n\`\`\``;
}

/** Writes what is posted to a thread, split into parts, once. */
export async function writeReport(
  tx: TenantTransaction,
  message: AnsweredMessage,
  {
    report,
    parts,
    afterUncertain,
  }: { readonly report: ChannelReport; readonly parts: readonly PartText[]; readonly afterUncertain: ChannelService['afterUncertain'] },
): Promise<void> {
  // If the service can't be asked about a draft, a lost draft must not prevent the answer.
  const forgetsLostDraft = afterUncertain === 'never';
  if (report.kind === 'reply') await writeReplyParts(tx, message.id, { parts, forgetsLostDraft });
  if (report.kind !== 'notice') return;
  // What follows a question is posted below it.
  if (report.number > 0) await leaveDraft(tx, message.id);
  const [first] = parts;
  if (first) await writeNotice(tx, message, { ...first, part: report.number });
  // A notice of the run's end replaces the answer.
  if (report.number === 0) await writeReplyParts(tx, message.id, { parts: [], forgetsLostDraft });
}
