import { useQueries, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useRef, useState } from 'react';
import type { ApiError } from '@longhaul/client';
import { Button } from 'react-aria-components';
import type { Views } from '../app/api.ts';
import { useTitle } from '../app/card-page.tsx';
import { useKeys } from '../app/keys.tsx';
import { approvalsRoute } from './routes.ts';
import { t } from '../messages/en.ts';
import { approvalTexts } from './messages.ts';
import { Fault, Notice } from '../ui/notice.tsx';
import { Time } from '../ui/time.tsx';
import { ApproveSelected, type ApproveSelectedHandle } from './approve-selected.tsx';
import styles from './approvals.module.css';
import { pendingRunsQuery, questionsQuery } from './pending.ts';
import { QuestionCard, type CardHandle } from './question-card.tsx';
import { questionOf } from './question.ts';

/** At most this many runs' questions are read; the oldest come first, so all have their turn. */
const runsShown = 20;

interface Asked {
  readonly run: Views['RunView'];
  readonly approval: Views['ApprovalView'];
}

/** Every question that waits for somebody, oldest first. */
export function ApprovalsPage() {
  useTitle(approvalTexts.title);
  const { workspaceId } = approvalsRoute.useParams();
  const runs = useQuery(pendingRunsQuery(workspaceId));
  const shown = (runs.data ?? []).toSorted((a, b) => a.created_at.localeCompare(b.created_at)).slice(0, runsShown);
  const lists = useQueries({ queries: shown.map(questionsQuery) });
  const asked = shown.flatMap((run, index) => (lists[index]?.data ?? []).map((approval): Asked => ({ run, approval })));
  const [said, setSaid] = useState('');
  const [tooLate, setTooLate] = useState<readonly ApiError[]>([]);
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const together = useRef<ApproveSelectedHandle>(null);
  const { register, setCurrent } = useCards(asked.map(({ approval }) => approval.id));
  useKeys({ A: () => together.current?.approve() });
  const selected = asked.filter(({ approval }) => chosen.has(seenAs(approval))).map(({ approval }) => questionOf(approval));
  const choose = (id: string, isChosen: boolean) => {
    const next = new Set(chosen);
    if (isChosen) next.add(id);
    else next.delete(id);
    setChosen(next);
  };

  return (
    <div className={styles.page}>
      <div className={styles.top}>
        <h1>{approvalTexts.title}</h1>
        {asked.length > 0 && <span className="hint">{approvalTexts.keysHint}</span>}
      </div>
      {runs.error !== null && <Fault error={runs.error} onRetry={() => void runs.refetch()} />}
      {said !== '' && <Notice tone="plain" text={said} />}
      {tooLate.map((error) => (
        <div key={error.correlationId} className="stack">
          <Fault error={error} />
          <div>
            <Button onPress={() => setTooLate(tooLate.filter((one) => one !== error))}>{approvalTexts.dismiss}</Button>
          </div>
        </div>
      ))}
      <ApproveSelected
        ref={together}
        questions={selected}
        onClear={() => setChosen(new Set())}
        onDone={(count) => {
          setChosen(new Set());
          setSaid(approvalTexts.approvedSome(count));
        }}
      />
      {runs.isPending && <p role="status">{t.list.loading}</p>}
      {runs.data !== undefined && asked.length === 0 && !lists.some((list) => list.isPending) && (
        <p className="hint">{approvalTexts.empty}</p>
      )}
      <ol className={styles.list}>
        {asked.map(({ run, approval }) => (
          <li key={approval.id}>
            <p className={styles.of}>
              <Link to="/w/$workspaceId/runs/$runId" params={{ workspaceId, runId: run.id }}>
                {run.agent_slug}
              </Link>
              <span className="hint">
                <Time at={approval.created_at} /> · {run.input.text?.slice(0, 140) ?? t.runs.noText}
              </span>
            </p>
            <QuestionCard
              ref={register(approval.id)}
              question={questionOf(approval)}
              onFocus={() => setCurrent(approval.id)}
              onTooLate={(error) => setTooLate((before) => [...before, error])}
              selection={{ isSelected: chosen.has(seenAs(approval)), onChange: (isChosen) => choose(seenAs(approval), isChosen) }}
              onAnswered={(decision) => setSaid(`${approval.tool_slug ?? approval.reason}: ${approvalTexts.done(decision)}`)}
            />
          </li>
        ))}
      </ol>
    </div>
  );
}

/** With its arguments: when they change, the question is no longer selected. */
function seenAs({ id, args_hash }: Views['ApprovalView']): string {
  return `${id} ${args_hash}`;
}

/** `j` and `k` walk over the cards; `a`, `r`, `e` and `x` act on the one that has the focus. */
function useCards(ids: readonly string[]) {
  const cards = useRef(new Map<string, CardHandle>());
  const [current, setCurrent] = useState<string | null>(null);
  const move = (by: 1 | -1) => {
    const from = current === null ? -1 : ids.indexOf(current);
    const to = from < 0 ? 0 : Math.max(0, Math.min(ids.length - 1, from + by));
    cards.current.get(ids[to] ?? '')?.focus();
  };
  const act = (what: 'approve' | 'reject' | 'edit' | 'select') => () => {
    if (current !== null) cards.current.get(current)?.[what]();
  };
  useKeys({ j: () => move(1), k: () => move(-1), a: act('approve'), r: act('reject'), e: act('edit'), x: act('select') });

  const register = (id: string) => (handle: CardHandle | null) => {
    if (handle === null) cards.current.delete(id);
    else cards.current.set(id, handle);
  };
  return { register, setCurrent };
}
