import { useQuery } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { ApiError } from '@longhaul/client';
import { useMay } from '../app/access.ts';
import { api } from '../app/api.ts';
import { useTitle } from '../app/card-page.tsx';
import { NotFound } from '../app/not-found.tsx';
import { runRoute } from './routes.ts';
import { t } from '../messages/en.ts';
import { Fault, Notice } from '../ui/notice.tsx';
import { Status } from '../ui/status.tsx';
import { Countdown } from '../ui/time.tsx';
import { CancelRun } from './cancel-run.tsx';
import { PurgeRun } from './purge-run.tsx';
import { RetryRun } from './retry-run.tsx';
import { RunFacts } from './run-facts.tsx';
import { isRunLive } from './run-filters.ts';
import styles from './run.module.css';
import { RunTabs } from './run-tabs.tsx';
import { SteerRun } from './steer-run.tsx';
import { Transcript } from './transcript.tsx';
import { useTimeline } from './use-timeline.ts';
import type { Link } from './watch-run.ts';

const pollMs = 5_000;

/** One run: what it says and does as it happens, and what can be done about it. */
export function RunPage() {
  const { runId, workspaceId } = runRoute.useParams();
  return <OneRun key={runId} runId={runId} workspaceId={workspaceId} />;
}

function OneRun({ runId, workspaceId }: { readonly runId: string; readonly workspaceId: string }) {
  const { timeline, link } = useTimeline(runId);
  const mayAct = useMay('member');
  const mayPurge = useMay('admin');
  const run = useQuery({
    queryKey: ['run', runId],
    queryFn: ({ signal }) => api.getRun({ run_id: runId }, { signal }),
    refetchInterval: ({ state }) => (state.data === undefined || isRunLive(state.data.status) ? pollMs : false),
  });
  // What only the row has (output, cost at the end) is read again when the frames say that it is there.
  useEffect(() => {
    if (timeline.isFinished) void run.refetch();
  }, [timeline.isFinished]);
  useTitle(run.data === undefined ? t.runs.title : t.run.title(run.data.agent_slug));

  if (link === 'gone' || (run.error instanceof ApiError && run.error.status === 404)) return <NotFound />;
  if (run.data === undefined)
    return run.error === null ? <p role="status">{t.list.loading}</p> : <Fault error={run.error} onRetry={() => void run.refetch()} />;

  const status = timeline.status ?? run.data.status;
  const isLive = isRunLive(status);
  const waitingUntil = timeline.waitingUntil ?? run.data.waiting_until;
  const waitingOn = timeline.waitingOn ?? run.data.waiting_on;
  return (
    <div className={styles.page}>
      <header className={styles.head}>
        <h1>{t.run.title(run.data.agent_slug)}</h1>
        <Status status={status} />
        {status === 'waiting' && waitingOn !== null && (
          <span className="hint">
            {t.run.waits(t.waitingOn[waitingOn] ?? waitingOn)}
            {waitingUntil !== null && (
              <>
                , <Countdown to={waitingUntil} />
              </>
            )}
          </span>
        )}
        <LinkState link={link} />
        {mayAct && isLive && <CancelRun runId={runId} isCancelling={status === 'cancelling'} />}
        {mayAct && !isLive && run.data.parent_run_id === null && <RetryRun runId={runId} workspaceId={workspaceId} />}
        {mayPurge && !isLive && <PurgeRun runId={runId} workspaceId={workspaceId} />}
      </header>
      <div className={styles.columns}>
        <div className={styles.main}>
          <RunTabs run={run.data} workspaceId={workspaceId} isLive={isLive}>
            <Transcript timeline={timeline} runId={runId} workspaceId={workspaceId} isLoading={link === 'connecting'} />
            {mayAct && isLive && status !== 'cancelling' && <SteerRun runId={runId} />}
          </RunTabs>
        </div>
        <RunFacts run={run.data} workspaceId={workspaceId} usage={timeline.usage ?? run.data.usage.subtree} isLive={isLive} />
      </div>
      <Announcer status={status} count={timeline.entries.length} />
    </div>
  );
}

function LinkState({ link }: { readonly link: Link }) {
  if (link === 'live') return <span className={styles.live}>{t.run.live}</span>;
  if (link === 'lost') return <Notice tone="warn" text={t.run.lost} />;
  if (link === 'polling') return <Notice tone="plain" text={t.run.polling} />;
  return null;
}

const announceEveryMs = 5_000;

/** Says what has changed to those who listen, politely and not too often. */
function Announcer({ status, count }: { readonly status: string; readonly count: number }) {
  const [said, setSaid] = useState('');
  const saidAt = useRef(0);
  useEffect(() => {
    const waitMs = Math.max(0, saidAt.current + announceEveryMs - Date.now());
    const timer = setTimeout(() => {
      saidAt.current = Date.now();
      setSaid(`${t.run.announce(t.status[status] ?? status)} ${t.run.steps}: ${count}`);
    }, waitMs);
    return () => clearTimeout(timer);
  }, [status, count]);
  return (
    <p className="hidden" role="status">
      {said}
    </p>
  );
}
