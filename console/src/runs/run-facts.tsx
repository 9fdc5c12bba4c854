import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { Views } from '../app/api.ts';
import { t } from '../messages/en.ts';
import { formatCount, Money } from '../ui/money.tsx';
import { Notice } from '../ui/notice.tsx';
import { Duration, Time } from '../ui/time.tsx';
import styles from './run.module.css';

interface RunFactsProps {
  readonly run: Views['RunView'];
  readonly workspaceId: string;
  /** Of the run and all below it, as far as the frames have told. */
  readonly usage: Views['UsageTotals'];
}

/** What a run is, where it comes from and what it has cost. */
export function RunFacts({ run, workspaceId, usage }: RunFactsProps) {
  const { own } = run.usage;
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
          {run.usage.subtree.model_calls !== own.model_calls && (
            <span className="hint">
              {' '}
              ({t.run.ownCost} <Money amount={own.cost_amount} currency={own.currency} />)
            </span>
          )}
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
        <Fact title={t.run.id}>
          <code>{run.id}</code>
        </Fact>
      </dl>
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
