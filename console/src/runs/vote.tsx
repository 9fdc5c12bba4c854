import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Button, Form } from 'react-aria-components';
import { api, type Views } from '../app/api.ts';
import { Area, Field } from '../ui/fields.tsx';
import { Fault } from '../ui/notice.tsx';
import { useIntent } from '../ui/use-intent.ts';
import { t as own } from './messages.ts';
import styles from './run.module.css';

type Rating = Views['FeedbackPut']['rating'];

/** The reader's own vote on a run that has ended, and what the revision has so far. */
export function Vote({ run }: { readonly run: Pick<Views['RunView'], 'id' | 'agent_id' | 'agent_revision_id'> }) {
  const queries = useQueryClient();
  const [rating, setRating] = useState<Rating | null>(null);
  const [comment, setComment] = useState('');
  const [correction, setCorrection] = useState('');
  const [tags, setTags] = useState('');
  const [said, setSaid] = useState('');
  const votes = useIntent((content: Views['FeedbackPut']) => api.putRunFeedback({ run_id: run.id, ...content }));
  const withdrawals = useIntent((runId: string) => api.withdrawRunFeedback({ run_id: runId }));
  const settle = async (isDone: boolean, words: string) => {
    if (!isDone) return;
    setSaid(words);
    await queries.invalidateQueries({ queryKey: ['votes'] });
  };
  const vote = async () => {
    if (rating === null) return;
    const isDone = await votes.send({
      rating,
      comment: comment.trim() === '' ? null : comment.trim(),
      correction: correction.trim() === '' ? null : correction.trim(),
      tags: tagsIn(tags),
    });
    await settle(isDone, own.vote.saved);
  };
  const withdraw = async () => {
    const isDone = await withdrawals.send(run.id);
    if (isDone) setRating(null);
    await settle(isDone, own.vote.withdrawn);
  };
  return (
    <Form
      className={styles.vote}
      aria-label={own.vote.title}
      onSubmit={(event) => {
        event.preventDefault();
        void vote();
      }}
    >
      <h2>{own.vote.title}</h2>
      <Counts run={run} />
      {votes.error !== null && <Fault error={votes.error} />}
      {withdrawals.error !== null && <Fault error={withdrawals.error} />}
      <div className="actions">
        {(['up', 'down'] as const).map((one) => (
          <Button key={one} aria-pressed={rating === one} onPress={() => setRating(one)}>
            {own.vote[one]}
          </Button>
        ))}
        <Button className="react-aria-Button quiet" isPending={withdrawals.isBusy} onPress={() => void withdraw()}>
          {own.vote.withdraw}
        </Button>
      </div>
      {rating !== null && (
        <>
          <Area label={own.vote.comment} rows={2} value={comment} onChange={setComment} />
          <Area label={own.vote.correction} rows={2} value={correction} onChange={setCorrection} />
          <Field label={own.vote.tags} value={tags} onChange={setTags} />
          <div className="actions">
            <Button type="submit" isPending={votes.isBusy}>
              {own.vote.save}
            </Button>
          </div>
        </>
      )}
      <p className="hint" role="status">
        {said}
      </p>
    </Form>
  );
}

function Counts({ run }: { readonly run: Pick<Views['RunView'], 'agent_id' | 'agent_revision_id'> }) {
  const { data } = useQuery({
    queryKey: ['votes', run.agent_id],
    queryFn: ({ signal }) => api.listFeedback({ agent_id: run.agent_id, limit: 200 }, { signal }),
    staleTime: 30_000,
  });
  const counted = data?.items.find(({ agent_revision_id }) => agent_revision_id === run.agent_revision_id);
  return counted === undefined ? null : <p className="hint">{own.vote.counts(counted.up, counted.down)}</p>;
}

function tagsIn(text: string): string[] {
  const tags = text.split(',').map((tag) => tag.trim());
  return [...new Set(tags.filter((tag) => tag !== ''))];
}
