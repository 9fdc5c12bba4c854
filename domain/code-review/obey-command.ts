import { readCommandState, type CommandState } from '../../db/code-review/posts/command-state.ts';
import { settleCommand, type CommandEnd } from '../../db/code-review/posts/commands.ts';
import { dismissFindings, findFinding } from '../../db/code-review/findings/person-findings.ts';
import { lockPull, readBindingState, storePull, type BindingState, type PullState } from '../../db/code-review/pulls/pulls.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import { Failure } from '../../workflows/contracts/failure.ts';
import type { ObeyedCommand } from '../../workflows/contracts/review/pull-requests.ts';
import { eventsShown } from './enabled-events.ts';
import { draftOf } from './judge-event.ts';
import { commandNames, splitArgument, type CommandName } from './pipeline/commands.ts';
import { startedByPlatform, startReview } from './start-review.ts';

const nothing: ObeyedCommand = { isAccepted: false, hasReply: false, threads: false };

/** The outcome of a command that was judged before. */
export function obeyedBefore({ state, command, reply }: Pick<CommandState, 'state' | 'command' | 'reply'>): ObeyedCommand {
  if (state !== 'accepted' && state !== 'done') return nothing;
  return { isAccepted: true, hasReply: reply !== null, threads: command === 'resolve' || (command === 'dismiss' && reply === null) };
}

/** Refuses a queued command: its sender may not write to the repository, or the host can't be asked. Posts no reply. */
export async function refuseCommand(tx: TenantTransaction, commandId: string, reason: 'no_permission' | 'host_lost'): Promise<void> {
  await settleCommand(tx, commandId, { state: 'refused', reason });
}

/**
 * Executes a command of an authorized sender, once: changes rows at once, or starts the run that the command needs. A command that can't be executed is
 * answered with the reason. A repeat changes nothing.
 */
export async function obeyCommand(
  tx: TenantTransaction,
  command: CommandState,
  { currency }: { readonly currency: string },
): Promise<ObeyedCommand> {
  const binding = await readBindingState(tx, command.bindingId);
  if (binding === null || !binding.isReviewed) {
    await settleCommand(tx, command.id, { state: 'refused', reason: 'binding_inactive' });
    return nothing;
  }
  const pull = await lockPull(tx, binding, command.pullNumber);
  // Another worker may have executed the command while this one waited for the pull request.
  const now = await readCommandState(tx, command.id);
  if (now?.state !== 'queued') return now ? obeyedBefore(now) : nothing;
  const { end, threads = false } = await effectOf(tx, { binding, pull, command, currency });
  if (!(await settleCommand(tx, command.id, end))) return nothing;
  return { isAccepted: true, hasReply: end.reply !== undefined && end.reply !== null, threads };
}

interface Obeying {
  readonly binding: BindingState;
  readonly pull: PullState;
  readonly command: CommandState;
  readonly currency: string;
}

interface Effect {
  readonly end: CommandEnd;
  readonly threads?: boolean;
}

async function effectOf(tx: TenantTransaction, obeying: Obeying): Promise<Effect> {
  const { pull, command, binding } = obeying;
  const name = commandNames.find((each) => each === command.command);
  const argument = command.argument ?? '';
  switch (name) {
    case 'review':
      return startedBy(tx, obeying, { kind: 'review', full: argument === 'full', findingId: null });
    case 'ask':
      if (argument === '') return done('Put your question after `/ask`.');
      return startedBy(tx, obeying, { kind: 'ask', full: false, findingId: null });
    case 'fix':
      return fix(tx, obeying);
    case 'pause':
    case 'resume':
      await storePull(tx, pull.id, { ...draftOf(pull), paused: name === 'pause', due: { kind: 'keep' } });
      return done(null);
    case 'resolve':
      await dismissFindings(tx, pull.id, null);
      return { ...done(null), threads: true };
    case 'dismiss':
      return dismiss(tx, obeying);
    case 'config':
      return done(configText(binding));
    case 'help':
      return done(helpText(binding));
    default:
      return { end: { state: 'refused', reason: 'unknown' } };
  }
}

async function fix(tx: TenantTransaction, obeying: Obeying): Promise<Effect> {
  const { pull, command } = obeying;
  const { finding: name } = splitArgument(asCommand(command));
  const found = await findFinding(tx, pull.id, { name, commentId: command.inReplyTo });
  if (name !== null && found === null) return done('There is no such finding in this pull request.');
  return startedBy(tx, obeying, { kind: 'fix', full: false, findingId: found?.id ?? null });
}

async function dismiss(tx: TenantTransaction, { pull, command }: Obeying): Promise<Effect> {
  const { finding: name, rest } = splitArgument(asCommand(command));
  const found = await findFinding(tx, pull.id, { name, commentId: command.inReplyTo });
  if (found === null) return done('Say which finding you mean: reply in its thread, or give its id.');
  await dismissFindings(tx, pull.id, found.id);
  return { end: { state: 'done', reason: rest === '' ? null : rest.slice(0, 500), reply: null }, threads: true };
}

function asCommand({ command, argument }: CommandState) {
  // Only the argument is read.
  return { name: command as CommandName, argument: argument ?? '', textSha256: '' };
}

interface Asked {
  readonly kind: 'review' | 'fix' | 'ask';
  readonly full: boolean;
  readonly findingId: string | null;
}

async function startedBy(
  tx: TenantTransaction,
  { binding, pull, command, currency }: Obeying,
  { kind, full, findingId }: Asked,
): Promise<Effect> {
  const request = { kind, full, post: true, is_automatic: false, command_id: command.id, finding_id: findingId } as const;
  try {
    const text = kind === 'ask' ? command.argument : null;
    const { run } = await startReview(tx, { binding, pull, request, text, by: startedByPlatform(currency) });
    return { end: { state: 'accepted', runId: run.id } };
  } catch (error) {
    if (!(error instanceof Failure) || error.retryable) throw error;
    return done(`This cannot be done now: ${error.detail}`);
  }
}

function done(reply: string | null): Effect {
  return { end: { state: 'done', reply } };
}

function configText({ reviewConfig, editorConfig, enabledEvents }: BindingState): string {
  const events = eventsShown(enabledEvents).flatMap(({ event, action, enabled }) => (enabled ? [`${event}.${action}`] : []));
  const shown = { events, review: reviewConfig, editor: editorConfig };
  return `\`\`\`json\n${JSON.stringify(shown, null, 2)}\n\`\`\``;
}

const helpTexts: Readonly<Record<CommandName, string>> = {
  review: '`/review [full]` reviews this pull request now; `full` reviews all of it',
  fix: '`/fix [finding]` repairs a finding, in its thread or by its id; without one, all open findings',
  ask: '`/ask question` answers a question about the change',
  pause: '`/pause` stops automatic reviews of this pull request',
  resume: '`/resume` resumes automatic reviews',
  resolve: '`/resolve` resolves the threads of this reviewer',
  dismiss: '`/dismiss [finding] [reason]` dismisses a finding permanently, in its thread or by its id',
  config: '`/config` shows the review configuration of this repository',
  help: '`/help` shows this',
};

function helpText({ enabledEvents }: BindingState): string {
  const names = commandNames.filter((name) => name === 'config' || name === 'help' || enabledEvents.includes(`command.${name}`));
  return names.map((name) => `- ${helpTexts[name]}`).join('\n');
}
