import { useQueryClient } from '@tanstack/react-query';
import { useImperativeHandle, useRef, useState, type Ref } from 'react';
import { Button } from 'react-aria-components';
import { useMay } from '../app/access.ts';
import { api } from '../app/api.ts';
import { t } from '../messages/en.ts';
import { Area } from '../ui/fields.tsx';
import { Json } from '../ui/json.tsx';
import { Fault } from '../ui/notice.tsx';
import { Countdown } from '../ui/time.tsx';
import { useIntent } from '../ui/use-intent.ts';
import { wantsText, type Question } from './question.ts';
import styles from './approvals.module.css';

/** What keys can do to a card. */
export interface CardHandle {
  focus(): void;
  approve(): void;
  reject(): void;
  edit(): void;
}

interface QuestionCardProps {
  readonly question: Question;
  readonly ref?: Ref<CardHandle>;
  readonly onFocus?: () => void;
  readonly onAnswered?: (decision: string) => void;
}

type Answer =
  | { readonly decision: 'approve' | 'reject' }
  | { readonly decision: 'edit'; readonly edited_args: Record<string, unknown> }
  | { readonly decision: 'respond'; readonly response: unknown };

type Resolution = Answer & { readonly approval_id: string; readonly comment?: string; readonly args_hash?: string };

/** A question with its arguments and the answers that it allows. An answer carries the hash of the arguments on screen, so none is given to others. */
export function QuestionCard({ question, ref, onFocus, onAnswered }: QuestionCardProps) {
  const card = useRef<HTMLElement>(null);
  const mayAnswer = useMay(question.floor);
  const queries = useQueryClient();
  const [isEditing, setEditing] = useState(false);
  const [comment, setComment] = useState('');
  const { send, sending, error } = useIntent((resolution: Resolution, options) =>
    api.resolveRunApprovals({ run_id: question.runId, resolutions: [resolution] }, options),
  );

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
  }));

  return (
    // Takes the focus of the keys that walk over cards, and notices which card it is in.
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions
    <article
      ref={card}
      tabIndex={-1}
      onFocus={onFocus}
      className={styles.card}
      aria-label={`${t.approvals.question}: ${question.slug ?? question.reason}`}
    >
      <header className={styles.cardHead}>
        {question.slug !== null && <code className={styles.slug}>{question.slug}</code>}
        {question.isCritical && <span className={styles.critical}>{t.approvals.critical}</span>}
        <span className="hint">
          {t.approvals.expires} <Countdown to={question.expiresAt} />, {t.approvals.onExpiry[question.onExpiry] ?? question.onExpiry}
        </span>
      </header>
      {question.prompt !== '' && <p className={styles.prompt}>{question.prompt}</p>}
      {question.args !== null && !isEditing && <Json value={question.args} label={t.run.args} />}
      {error !== null && <Fault error={error} />}
      {!mayAnswer && <p className="hint">{t.approvals.needsAdmin}</p>}
      {isEditing && (
        <EditArgs
          args={question.args ?? {}}
          isBusy={sending?.decision === 'edit'}
          onCancel={() => setEditing(false)}
          onDone={(edited_args) => void answer({ decision: 'edit', edited_args })}
        />
      )}
      {allows('respond') && question.reason !== 'tool_call' && (
        <Respond
          question={question}
          isBusy={sending?.decision === 'respond'}
          onDone={(response) => void answer({ decision: 'respond', response })}
        />
      )}
      {!isEditing && (allows('approve') || allows('reject') || allows('edit')) && (
        <>
          {allows('reject') && <Area label={t.approvals.comment} rows={1} value={comment} onChange={setComment} />}
          <div className="actions">
            {allows('approve') && (
              <Button
                className="react-aria-Button primary"
                isPending={sending?.decision === 'approve'}
                isDisabled={sending !== null}
                onPress={() => void answer({ decision: 'approve' })}
              >
                {t.approvals.approve}
              </Button>
            )}
            {allows('reject') && (
              <Button
                className="react-aria-Button danger"
                isPending={sending?.decision === 'reject'}
                isDisabled={sending !== null}
                onPress={() => void answer({ decision: 'reject' })}
              >
                {t.approvals.reject}
              </Button>
            )}
            {allows('edit') && (
              <Button isDisabled={sending !== null} onPress={() => setEditing(true)}>
                {t.approvals.edit}
              </Button>
            )}
          </div>
        </>
      )}
    </article>
  );
}

interface EditArgsProps {
  readonly args: Readonly<Record<string, unknown>>;
  readonly isBusy: boolean;
  readonly onDone: (args: Record<string, unknown>) => void;
  readonly onCancel: () => void;
}

/** Other arguments than those that were asked for, with the ones asked for beside them. */
function EditArgs({ args, isBusy, onDone, onCancel }: EditArgsProps) {
  const [text, setText] = useState(() => JSON.stringify(args, null, 2));
  const [error, setError] = useState<string | null>(null);
  const done = () => {
    const read = objectIn(text);
    if (typeof read === 'string') setError(read);
    else onDone(read);
  };
  return (
    <div className="stack">
      <div className={styles.sides}>
        <div className="stack">
          <h3>{t.approvals.before}</h3>
          <Json value={args} label={t.approvals.before} />
        </div>
        <Area
          label={t.approvals.after}
          isMono
          rows={Math.min(20, text.split('\n').length + 1)}
          value={text}
          onChange={setText}
          error={error}
          autoFocus
        />
      </div>
      <div className="actions">
        <Button className="react-aria-Button primary" isPending={isBusy} onPress={done}>
          {t.approvals.editDo}
        </Button>
        <Button onPress={onCancel}>{t.actions.cancel}</Button>
      </div>
    </div>
  );
}

/** The object that a text is, or what is wrong with it. */
function objectIn(text: string): Record<string, unknown> | string {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return t.approvals.mustBeObject;
    return value as Record<string, unknown>; // told by the line before
  } catch {
    return t.approvals.invalidJson;
  }
}

interface RespondProps {
  readonly question: Question;
  readonly isBusy: boolean;
  readonly onDone: (response: unknown) => void;
}

/** The answer to a question of the agent: a text, or JSON where its schema wants more. */
function Respond({ question, isBusy, onDone }: RespondProps) {
  const isText = wantsText(question.responseSchema);
  const [text, setText] = useState('');
  const [error, setError] = useState<string | null>(null);
  const done = () => {
    if (isText) return onDone(text);
    try {
      onDone(JSON.parse(text));
    } catch {
      setError(t.approvals.invalidJson);
    }
  };
  return (
    <div className="stack">
      <Area
        label={isText ? t.approvals.response : t.approvals.responseJson}
        isMono={!isText}
        rows={2}
        value={text}
        onChange={setText}
        error={error}
      />
      {!isText && question.responseSchema !== null && <Json value={question.responseSchema} label="Schema" />}
      <div className="actions">
        <Button className="react-aria-Button primary" isPending={isBusy} isDisabled={text.trim() === ''} onPress={done}>
          {t.approvals.respond}
        </Button>
      </div>
    </div>
  );
}
