import { Link } from '@tanstack/react-router';
import { Button } from 'react-aria-components';
import { api, type Views } from '../app/api.ts';
import { t } from '../messages/en.ts';
import { Json, LongText } from '../ui/json.tsx';
import { formatCount, Money } from '../ui/money.tsx';
import { Fault, Notice } from '../ui/notice.tsx';
import { Status } from '../ui/status.tsx';
import { formatDuration, Time } from '../ui/time.tsx';
import { t as own } from './messages.ts';
import styles from './run.module.css';
import { usePaged } from './use-paged.ts';

type Step = Views['RunStepView'];

interface RunStepsProps {
  readonly runId: string;
  readonly workspaceId: string;
  readonly isLive: boolean;
}

/** Each model call, tool call and sub-agent of a run, with the tries that failed before. */
export function RunSteps({ runId, workspaceId, isLive }: RunStepsProps) {
  const steps = usePaged<Step>({
    queryKey: ['run', runId, 'steps'],
    fetchPage: (cursor, signal) => api.listRunSteps({ run_id: runId, limit: 100, cursor }, { signal }),
    isLive,
  });
  if (steps.error !== null) return <Fault error={steps.error} onRetry={steps.again} />;
  if (steps.isLoading) return <p role="status">{t.list.loading}</p>;
  if (steps.items.length === 0) return <p className="hint">{own.steps.empty}</p>;
  return (
    <>
      <ol className={styles.entries}>
        {steps.items.map((step) => (
          <li key={step.id}>
            <OneStep step={step} workspaceId={workspaceId} />
          </li>
        ))}
      </ol>
      {steps.hasMore && (
        <div>
          <Button isPending={steps.isLoadingMore} onPress={steps.loadMore}>
            {t.actions.more}
          </Button>
        </div>
      )}
    </>
  );
}

function OneStep({ step, workspaceId }: { readonly step: Step; readonly workspaceId: string }) {
  return (
    <details className={styles.call} open={step.status === 'failed' || undefined}>
      <summary>
        <span className="hint">{own.steps.step(step.step)}</span>
        <code className={styles.slug}>{step.name}</code>
        <span className={styles.short}>
          {own.steps.kinds[step.kind] ?? step.kind}
          {step.retries.length > 0 && `, ${own.steps.retried(step.retries.length)}`}
        </span>
        <Status status={step.status} />
        {step.duration_ms !== null && <span className="hint">{formatDuration(step.duration_ms)}</span>}
      </summary>
      <div className={styles.callBody}>
        {step.error !== null && <Notice tone="bad" text={`${step.error.code}: ${step.error.message}`} />}
        <StepFacts step={step} workspaceId={workspaceId} />
        {step.retries.length > 0 && <Tries retries={step.retries} />}
        {step.args !== null && (
          <>
            <h3>{t.run.args}</h3>
            <Json value={step.args} label={t.run.args} />
          </>
        )}
        {step.output_preview !== null && (
          <>
            <h3>{own.steps.preview}</h3>
            <LongText text={step.output_preview} label={own.steps.preview} />
          </>
        )}
      </div>
    </details>
  );
}

function StepFacts({ step, workspaceId }: { readonly step: Step; readonly workspaceId: string }) {
  const { usage } = step;
  return (
    <dl className={styles.stepFacts}>
      <div>
        <dt>{t.run.began}</dt>
        <dd>
          <Time at={step.started_at} />, {own.steps.attempt(step.attempt)}
        </dd>
      </div>
      {step.first_token_at !== null && (
        <div>
          <dt>{own.steps.firstToken}</dt>
          <dd>{formatDuration(Date.parse(step.first_token_at) - Date.parse(step.started_at))}</dd>
        </div>
      )}
      {usage !== null && (
        <div>
          <dt>{own.steps.usage}</dt>
          <dd>
            {formatCount(usage.tokens.input + usage.tokens.cached_read + usage.tokens.cached_write)} / {formatCount(usage.tokens.output)},{' '}
            <Money amount={usage.cost_amount} currency={usage.currency} />
          </dd>
        </div>
      )}
      {step.child_run_id !== null && (
        <div>
          <dt>{own.steps.child}</dt>
          <dd>
            <Link to="/w/$workspaceId/runs/$runId" params={{ workspaceId, runId: step.child_run_id }}>
              {step.child_run_id.slice(-12)}
            </Link>
          </dd>
        </div>
      )}
      {step.trace_id !== null && (
        <div>
          <dt>{own.steps.trace}</dt>
          <dd>
            <code>{step.trace_id}</code>
          </dd>
        </div>
      )}
    </dl>
  );
}

function Tries({ retries }: { readonly retries: Step['retries'] }) {
  return (
    <>
      <h3>{own.steps.tries}</h3>
      <ol>
        {retries.map(({ attempt, cause, error_code, at, delay_ms }) => (
          <li key={attempt}>
            {own.steps.attempt(attempt)}: {cause.replaceAll('_', ' ')}
            {error_code !== null && ` (${error_code})`}, <Time at={at} />; {own.steps.waited} {formatDuration(delay_ms)}
          </li>
        ))}
      </ol>
    </>
  );
}
