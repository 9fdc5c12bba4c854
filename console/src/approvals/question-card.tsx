import { useQueryClient } from '@tanstack/react-query';
import { useImperativeHandle, useRef, useState, type Ref } from 'react';
import type { ApiError } from '@longhaul/client';
import { Button } from 'react-aria-components';
import { useMay } from '../app/access.ts';
import { api } from '../app/api.ts';
import { t } from '../messages/en.ts';
import { approvalTexts } from './messages.ts';
import { Check } from '../ui/check.tsx';
import { Area } from '../ui/fields.tsx';
import { Json } from '../ui/json.tsx';
import { Fault } from '../ui/notice.tsx';
import { Countdown } from '../ui/time.tsx';
import { useIntent } from '../ui/use-intent.ts';
import { EditArgs } from './edit-args.tsx';
import { isTooLate } from './too-late.ts';
import type { Question } from './question.ts';
import { Respond } from './respond.tsx';
import styles from './approvals.module.css';

/** What keys can do to a card. */
export interface CardHandle {
  focus(): void;
  approve(): void;
  reject(): void;
  edit(): void;
  /** Adds it to those that are answered together, or takes it away. */
  select(): void;
}

interface QuestionCardProps {
  readonly question: Question;
  readonly ref?: Ref<CardHandle>;
  readonly onFocus?: () => void;
  readonly onAnswered?: (decision: string) => void;
  /** The answer came too late: somebody else was faster, or the time was over. The card goes; its reader is to be told. */
  readonly onTooLate?: (error: ApiError) => void;
  /** Where several can be answered together. */
  readonly selection?: { readonly isSelected: boolean; readonly onChange: (isSelected: boolean) => void };
}

type Answer =
  | { readonly decision: 'approve' | 'reject' }
  | { readonly decision: 'edit'; readonly edited_args: Record<string, unknown> }
  | { readonly decision: 'respond'; readonly response: unknown };

type Resolution = Answer & { readonly approval_id: string; readonly comment?: string; readonly args_hash?: string };

/** A question with its arguments and the answers that it allows. An answer carries the hash of the arguments on screen, so none is given to others. */
export function QuestionCard({ question, ref, onFocus, onAnswered, onTooLate, selection }: QuestionCardProps) {
  const card = useRef<HTMLElement>(null);
  const mayAnswer = useMay(question.floor);
  const queries = useQueryClient();
  const [isEditing, setEditing] = useState(false);
  const [isResponding, setResponding] = useState(question.reason !== 'tool_call');
  const [comment, setComment] = useState('');
  const { send, sending, error } = useIntent(async (resolution: Resolution, options) => {
    try {
      await api.resolveRunApprovals({ run_id: question.runId, resolutions: [resolution] }, options);
    } catch (thrown) {
      if (isTooLate(thrown)) onTooLate?.(thrown);
      throw thrown;
    }
  });

  const allows = (decision: string) => mayAnswer && question.decisions.includes(decision);
  const answer = async (given: Answer) => {
    const isAnswered = await send({
      approval_id: question.id,
      ...given,
      ...(comment.trim() !== '' && { comment: comment.trim() }),
      ...(question.argsHash !== null && { args_hash: question.argsHash }),
    });
    if (isAnswered) onAnswered?.(given.decision);
    await queries.invalidateQueries({ queryKey: ['approvals'] });
  };
  useImperativeHandle(ref, () => ({
    focus: () => card.current?.focus(),
    approve: () => void (allows('approve') && answer({ decision: 'approve' })),
    reject: () => void (allows('reject') && answer({ decision: 'reject' })),
    edit: () => void (allows('edit') && setEditing(true)),
    select: () => void (allows('approve') && selection?.onChange(!selection.isSelected)),
  }));

  return (
    // Takes the focus of the keys that walk over cards, and notices which card it is in.
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions
    <article
      ref={card}
      tabIndex={-1}
      onFocus={onFocus}
      className={styles.card}
      aria-label={`${approvalTexts.question}: ${question.slug ?? question.reason}`}
    >
      <header className={styles.cardHead}>
        {question.slug !== null && <code className={styles.slug}>{question.slug}</code>}
        {selection !== undefined && allows('approve') && (
          <Check label={approvalTexts.select} isChecked={selection.isSelected} onChange={selection.onChange} />
        )}
        {question.isCritical && <span className={styles.critical}>{approvalTexts.critical}</span>}
        <span className="hint">
          {approvalTexts.expires} <Countdown to={question.expiresAt} />, {approvalTexts.onExpiry[question.onExpiry] ?? question.onExpiry}
        </span>
      </header>
      {question.prompt !== '' && <p className={styles.prompt}>{question.prompt}</p>}
      {question.args !== null && !isEditing && <Json value={question.args} label={t.run.args} />}
      {error !== null && !(onTooLate !== undefined && isTooLate(error)) && <Fault error={error} />}
      {!mayAnswer && <p className="hint">{approvalTexts.needsAdmin}</p>}
      {isEditing && (
        <EditArgs
          args={question.args ?? {}}
          isBusy={sending?.decision === 'edit'}
          onCancel={() => setEditing(false)}
          onDone={(edited_args) => void answer({ decision: 'edit', edited_args })}
        />
      )}
      {allows('respond') && isResponding && (
        <Respond
          question={question}
          isBusy={sending?.decision === 'respond'}
          onDone={(response) => void answer({ decision: 'respond', response })}
        />
      )}
      {!isEditing && (allows('approve') || allows('reject') || allows('edit')) && (
        <>
          {allows('reject') && <Area label={approvalTexts.comment} rows={1} value={comment} onChange={setComment} />}
          <div className="actions">
            {allows('approve') && (
              <Button
                className="react-aria-Button primary"
                isPending={sending?.decision === 'approve'}
                isDisabled={sending !== null}
                onPress={() => void answer({ decision: 'approve' })}
              >
                {approvalTexts.approve}
              </Button>
            )}
            {allows('reject') && (
              <Button
                className="react-aria-Button danger"
                isPending={sending?.decision === 'reject'}
                isDisabled={sending !== null}
                onPress={() => void answer({ decision: 'reject' })}
              >
                {approvalTexts.reject}
              </Button>
            )}
            {allows('edit') && (
              <Button isDisabled={sending !== null} onPress={() => setEditing(true)}>
                {approvalTexts.edit}
              </Button>
            )}
            {allows('respond') && !isResponding && (
              <Button isDisabled={sending !== null} onPress={() => setResponding(true)}>
                {approvalTexts.respondInstead}
              </Button>
            )}
          </div>
        </>
      )}
    </article>
  );
}
