import type { BindingState, DueChange, PullChange, PullState, QueuedEvent } from '../../db/code-review/pulls/pulls.ts';
import type { ReviewFacts } from '../../db/code-review/pulls/facts.ts';
import { nameOfEvent } from './enabled-events.ts';

/** A pull request while events are applied to it, one after the other. */
export type PullDraft = PullChange;

/** The effect of an event beyond the pull request's own row. */
export type EventEffect =
  | { readonly kind: 'none' }
  /** An immediate review that a person requested. */
  | { readonly kind: 'review'; readonly full: boolean }
  | { readonly kind: 'fix' }
  | { readonly kind: 'command'; readonly comment: NonNullable<ReviewFacts['comment']> }
  /** The comment of a command was deleted, or now contains another command. */
  | { readonly kind: 'withdraw'; readonly commentId: number; readonly keep: string | null }
  | { readonly kind: 'thread'; readonly isResolved: boolean }
  | { readonly kind: 'dismissal'; readonly reviewId: number };

/** The outcome of an event. `reason`: why it was ignored. */
export interface JudgedEvent {
  readonly pull: PullDraft;
  readonly effects: readonly EventEffect[];
  readonly reason: string | null;
}

/** A pull request as it is locked, before any event is applied. */
export function draftOf(pull: PullState): PullDraft {
  const { state, isDraft, isFork, paused, isBlockDismissed, heardAt, baseRef, headSha, isDueFull } = pull;
  return { state, isDraft, isFork, paused, isBlockDismissed, heardAt, baseRef, headSha, isDueFull, due: { kind: 'keep' } };
}

type Binding = Pick<BindingState, 'enabledEvents' | 'reviewConfig' | 'editorConfig'>;

interface Judging {
  readonly pull: PullDraft;
  readonly lastHeadSha: string | null;
  readonly binding: Binding;
}

/** Judges one event of a pull request. Pure: takes and returns rows. */
export function judgeEvent(judging: Judging, { event, action, facts }: QueuedEvent): JudgedEvent {
  switch (event) {
    case 'pull_request':
      return judgePullRequest(judging, action, facts);
    case 'issue_comment':
    case 'pull_request_review_comment':
      return judgeComment(judging, action, facts);
    case 'pull_request_review_thread':
      // The ledger already knows what our own App has resolved.
      return facts.is_bot ? ignored(judging.pull, 'own') : taken(judging.pull, [{ kind: 'thread', isResolved: action === 'resolved' }]);
    case 'pull_request_review':
      return facts.review_id === undefined || facts.is_bot
        ? ignored(judging.pull, 'own')
        : taken(judging.pull, [{ kind: 'dismissal', reviewId: facts.review_id }]);
    case 'check_run':
    case 'check_suite':
      return judgeCheck(judging, { event, action }, facts);
    default:
      return ignored(judging.pull, 'unknown');
  }
}

function judgePullRequest({ pull: before, lastHeadSha, binding }: Judging, action: string, facts: ReviewFacts): JudgedEvent {
  const heardAt = facts.updated_at === undefined ? before.heardAt : new Date(facts.updated_at);
  if (before.heardAt !== null && heardAt !== null && heardAt < before.heardAt) return ignored(before, 'stale');
  const state = action === 'closed' || facts.is_open === false ? 'closed' : 'open';
  const pull = inState({ ...withFacts(before, facts), heardAt }, state);
  if (action === 'closed') return taken(pull);
  if (action === 'converted_to_draft' && state === 'open')
    return taken({ ...pull, isDraft: true, due: binding.reviewConfig.drafts ? pull.due : { kind: 'none' } });
  if (!isEnabled(binding, 'pull_request', action)) return ignored(pull, 'disabled');
  const refusal = refusalOf({ pull, binding }, action, facts);
  if (refusal !== null) return ignored(pull, refusal);
  switch (action) {
    case 'synchronize':
      return taken({ ...pull, due: debounced(before.due, binding.reviewConfig.debounce_seconds) });
    case 'edited':
    case 'labeled': {
      const isFull = facts.is_base_changed === true;
      // A new title or label is no reason to judge the same head again.
      if (!isFull && pull.headSha !== null && pull.headSha === lastHeadSha) return ignored(pull, 'reviewed');
      return taken({ ...pull, isDueFull: pull.isDueFull || isFull, due: { kind: 'now' } });
    }
    default:
      return taken({ ...pull, due: { kind: 'now' } });
  }
}

/** Why an event of a pull request requests no review; null: it does. */
function refusalOf({ pull, binding }: Pick<Judging, 'pull' | 'binding'>, action: string, facts: ReviewFacts): string | null {
  if (pull.state === 'closed') return 'closed';
  if (action === 'review_requested' && facts.is_app_requested !== true) return 'other_reviewer';
  if (pull.paused) return 'paused';
  if (pull.isDraft && !binding.reviewConfig.drafts) return 'draft';
  // A pull request of our editor onto the head branch is its offer, not something to review. A head that the editor pushed itself is reviewed.
  const isEditors = facts.is_bot === true && facts.head_ref?.startsWith(binding.editorConfig.branch_prefix) === true;
  return isEditors && action !== 'synchronize' ? 'own' : null;
}

function withFacts(pull: PullDraft, facts: ReviewFacts): PullDraft {
  return {
    ...pull,
    headSha: facts.head_sha ?? pull.headSha,
    baseRef: facts.base_ref ?? pull.baseRef,
    isDraft: facts.is_draft ?? pull.isDraft,
    isFork: facts.is_fork ?? pull.isFork,
  };
}

/** A closed pull request no longer waits for a review: reading the reactions to its comments is due instead. For a reopened one nothing is due. */
function inState(pull: PullDraft, state: PullDraft['state']): PullDraft {
  if (pull.state === state) return pull;
  return { ...pull, state, due: { kind: state === 'closed' ? 'now' : 'none' }, isDueFull: false };
}

function debounced(due: DueChange, seconds: number): DueChange {
  // A review requested for now does not wait for further pushes.
  return due.kind === 'now' ? due : { kind: 'debounced', seconds };
}

function judgeComment({ pull, binding }: Judging, action: string, facts: ReviewFacts): JudgedEvent {
  const { comment } = facts;
  if (comment === undefined) return ignored(pull, 'unknown');
  if (action === 'deleted') return taken(pull, [{ kind: 'withdraw', commentId: comment.id, keep: null }]);
  if (facts.is_bot) return ignored(pull, 'own');
  const { command } = comment;
  const withdraw: EventEffect[] =
    action === 'edited' ? [{ kind: 'withdraw', commentId: comment.id, keep: command?.text_sha256 ?? null }] : [];
  if (command === null) return taken(pull, withdraw);
  if (!isCommandEnabled(binding, command.name)) return { ...taken(pull, withdraw), reason: 'disabled' };
  return taken(pull, [...withdraw, { kind: 'command', comment }]);
}

function isCommandEnabled(binding: Binding, name: string): boolean {
  if (name === 'config' || name === 'help') return binding.enabledEvents.some((one) => one.startsWith('command.'));
  return isEnabled(binding, 'command', name);
}

function judgeCheck(
  { pull, binding }: Judging,
  { event, action }: { readonly event: string; readonly action: string },
  facts: ReviewFacts,
): JudgedEvent {
  if (!isEnabled(binding, event, action)) return ignored(pull, 'disabled');
  if (pull.state === 'closed') return ignored(pull, 'closed');
  if (action === 'rerequested') return taken(pull, [{ kind: 'review', full: true }]);
  return facts.check_action === 'fix' ? taken(pull, [{ kind: 'fix' }]) : ignored(pull, 'unknown');
}

function isEnabled({ enabledEvents }: Binding, event: string, action: string): boolean {
  return enabledEvents.includes(nameOfEvent({ event, action }));
}

function taken(pull: PullDraft, effects: readonly EventEffect[] = []): JudgedEvent {
  return { pull, effects, reason: null };
}

function ignored(pull: PullDraft, reason: string): JudgedEvent {
  return { pull, effects: [], reason };
}
