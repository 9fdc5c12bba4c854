import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { Views } from '../app/api.ts';
import { t } from '../messages/en.ts';
import { Json } from '../ui/json.tsx';
import { formatCount, Money } from '../ui/money.tsx';
import { Notice } from '../ui/notice.tsx';
import { Countdown, Duration, Time } from '../ui/time.tsx';
import { t as own } from './messages.ts';
import styles from './run.module.css';
import { Vote } from './vote.tsx';

interface RunFactsProps {
  readonly run: Views['RunView'];
  readonly workspaceId: string;
  /** Of the run and all below it, as far as the frames have told. */
  readonly usage: Views['UsageTotals'];
  readonly isLive: boolean;
}

/** What a run is, where it comes from and what it has cost. */
export function RunFacts({ run, workspaceId, usage, isLive }: RunFactsProps) {
  return (
    <section className={styles.facts} aria-label={t.run.facts}>
      {run.error !== null && <Notice tone="bad" text={`${run.error.code}: ${run.error.message}`} />}
      {run.warnings.map(({ code, message }) => (
        <Notice key={code + message} tone="warn" text={message} />
      ))}
      <dl>
        <Fact title={t.run.created}>
          <Time at={run.created_at} />
        </Fact>
        {run.started_at !== null && (
          <Fact title={run.finished_at === null ? t.run.runsFor : t.run.ended}>
            {run.finished_at === null ? (
              <Duration from={run.started_at} to={null} />
            ) : (
              <>
                <Time at={run.finished_at} /> (<Duration from={run.started_at} to={run.finished_at} />)
              </>
            )}
          </Fact>
        )}
        <Fact title={t.run.cost}>
          <Money amount={usage.cost_amount} currency={usage.currency} />
          <span className="hint">
            {' '}
            {own.tree.subtree}; {own.tree.own} <Money amount={run.usage.own.cost_amount} currency={run.usage.own.currency} />
          </span>
        </Fact>
        <Fact title={t.run.tokens}>
          {formatCount(usage.tokens.input + usage.tokens.cached_read + usage.tokens.cached_write)} / {formatCount(usage.tokens.output)}
        </Fact>
        <Fact title={t.run.calls}>{formatCount(usage.model_calls)}</Fact>
        <Fact title={t.run.source}>{run.source.replaceAll('_', ' ')}</Fact>
        {run.session_key !== null && (
          <Fact title={t.run.session}>
            <Link to="/w/$workspaceId/runs" params={{ workspaceId }} search={{ session_key: run.session_key }}>
              {run.session_key}
            </Link>
          </Fact>
        )}
        {run.parent_run_id !== null && (
          <Fact title={t.run.parent}>
            <Link to="/w/$workspaceId/runs/$runId" params={{ workspaceId, runId: run.parent_run_id }}>
              {run.parent_run_id.slice(-12)}
            </Link>
          </Fact>
        )}
        {run.retry_of_run_id !== null && (
          <Fact title={run.forked_at_message_id === null ? own.retryOf : own.forkedFrom}>
            <Link to="/w/$workspaceId/runs/$runId" params={{ workspaceId, runId: run.retry_of_run_id }}>
              {run.retry_of_run_id.slice(-12)}
            </Link>
          </Fact>
        )}
        {run.persona_slug !== null && <Fact title={own.persona}>{run.persona_slug}</Fact>}
        {run.queue_position !== null && isLive && <Fact title={own.queue}>{formatCount(run.queue_position)}</Fact>}
        {run.start_after !== null && run.started_at === null && (
          <Fact title={own.startsAfter}>
            <Time at={run.start_after} /> (<Countdown to={run.start_after} />)
          </Fact>
        )}
        <Fact title={t.run.id}>
          <code>{run.id}</code>
        </Fact>
      </dl>
      {Object.keys(run.metadata).length > 0 && <Json value={run.metadata} label={own.metadata} />}
      {!isLive && <Vote run={run} />}
    </section>
  );
}

function Fact({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  return (
    <div>
      <dt>{title}</dt>
      <dd>{children}</dd>
    </div>
  );
}
