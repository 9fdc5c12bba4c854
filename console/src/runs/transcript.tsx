import { Link } from '@tanstack/react-router';
import { lazy, memo, Suspense } from 'react';
import { QuestionCard } from '../approvals/question-card.tsx';
import { AnsweredBy } from '../ui/answered-by.tsx';
import type { Question } from '../approvals/question.ts';
import { t } from '../messages/en.ts';
import { Json, LongText } from '../ui/json.tsx';
import { Notice } from '../ui/notice.tsx';
import { Status } from '../ui/status.tsx';
import { formatDuration, Time } from '../ui/time.tsx';
import { Blocks } from './blocks.tsx';
import styles from './run.module.css';
import type { CallEntry, ChildEntry, Entry, MessageEntry, QuestionEntry, Timeline } from './timeline.ts';

const Markdown = lazy(() => import('../ui/markdown.tsx').then(({ Markdown }) => ({ default: Markdown })));

interface TranscriptProps {
  readonly timeline: Timeline;
  readonly runId: string;
  readonly workspaceId: string;
  readonly isLoading?: boolean;
}

/** All that a run has said and done, oldest first; what runs below it did stands where it was started. */
export function Transcript({ timeline, runId, workspaceId, isLoading = false }: TranscriptProps) {
  if (timeline.entries.length === 0) return <p className="hint">{isLoading ? t.list.loading : t.run.noFrames}</p>;
  return <Entries entries={timeline.entries} runId={runId} workspaceId={workspaceId} />;
}

interface EntriesProps {
  readonly entries: readonly Entry[];
  readonly runId: string;
  readonly workspaceId: string;
}

function Entries({ entries, runId, workspaceId }: EntriesProps) {
  return (
    <ol className={styles.entries}>
      {entries
        .filter((entry) => entry.runId === runId)
        .map((entry) => (
          <li key={entry.key}>
            {entry.kind === 'child' ? (
              <Child entry={entry} entries={entries} workspaceId={workspaceId} />
            ) : (
              <One entry={entry} entries={entries} />
            )}
          </li>
        ))}
    </ol>
  );
}

function One({ entry, entries }: { readonly entry: Exclude<Entry, ChildEntry>; readonly entries: readonly Entry[] }) {
  switch (entry.kind) {
    case 'message':
      return <Message entry={entry} />;
    case 'call':
      return <Call entry={entry} />;
    case 'question':
      return <Asked entry={entry} entries={entries} />;
    case 'note':
      return entry.tone === 'bad' ? <Notice tone="bad" text={entry.text} /> : <p className="hint">↻ {entry.text}</p>;
    default:
      return entry satisfies never;
  }
}

const Message = memo(function Message({ entry }: { readonly entry: MessageEntry }) {
  const text = entry.content === null ? Object.values(entry.parts).join('\n\n') : textOf(entry.content);
  const rest = (entry.content ?? []).filter((block) => !('text' in block));
  if (text === '' && rest.length === 0 && entry.reasoning === '') return null;
  const isPerson = entry.role === 'user';
  const name = isPerson ? t.run.user : entry.role === 'system' ? t.run.system : (entry.model ?? 'Agent');
  return (
    <section className={`${styles.message} ${isPerson ? styles.person : ''} ${entry.isDiscarded ? styles.discarded : ''}`}>
      <h2 className={styles.name}>
        {name} <Time at={entry.at} />
      </h2>
      {entry.reasoning !== '' && (
        <details className={styles.reasoning}>
          <summary>{t.run.thinking}</summary>
          <p className={styles.plain}>{entry.reasoning}</p>
        </details>
      )}
      {text !== '' &&
        (isPerson ? (
          <p className={styles.plain}>{text}</p>
        ) : (
          <Suspense fallback={<p className={styles.plain}>{text}</p>}>
            <Markdown text={text} />
          </Suspense>
        ))}
      <Blocks content={rest} isMarkdown={!isPerson} />
    </section>
  );
});

function textOf(content: NonNullable<MessageEntry['content']>): string {
  return content
    .flatMap((block) => ('text' in block && typeof block.text === 'string' && block.type !== 'reasoning_summary' ? [block.text] : []))
    .join('\n\n');
}

const Call = memo(function Call({ entry }: { readonly entry: CallEntry }) {
  const { result } = entry;
  const status = result?.status ?? (entry.phase === 'executing' ? 'running' : entry.phase === 'ready' ? 'queued' : 'running');
  return (
    <details className={styles.call}>
      <summary>
        <code className={styles.slug}>{entry.slug}</code>
        <span className={styles.short}>{shortArgs(entry)}</span>
        <Status status={status} />
        {result !== null && result.duration_ms !== null && <span className="hint">{formatDuration(result.duration_ms)}</span>}
      </summary>
      <div className={styles.callBody}>
        <h3>{t.run.args}</h3>
        {entry.args === null ? <pre className={styles.partial}>{entry.argsText}</pre> : <Json value={entry.args} label={t.run.args} />}
        {entry.progress !== null && (
          <p>
            {t.run.progress}: {entry.progress.pct !== null && `${entry.progress.pct} % `}
            {entry.progress.text}
          </p>
        )}
        {result !== null && (
          <>
            <h3>{t.run.result}</h3>
            {result.error !== null && <Notice tone="bad" text={`${result.error.code}: ${result.error.message}`} />}
            {result.output !== null && <Output output={result.output} />}
          </>
        )}
      </div>
    </details>
  );
});

function Output({ output }: { readonly output: unknown }) {
  if (typeof output === 'string') return <LongText text={output} label={t.run.result} />;
  return <Json value={output} label={t.run.result} />;
}

function shortArgs({ args, argsText }: CallEntry): string {
  if (args === null) return argsText.slice(0, 120);
  return Object.entries(args)
    .map(([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(', ')
    .slice(0, 160);
}

function Asked({ entry, entries }: { readonly entry: QuestionEntry; readonly entries: readonly Entry[] }) {
  const { request, answer } = entry;
  const call = entries.find((one): one is CallEntry => one.kind === 'call' && one.key === `c:${request.tool_call_id}`);
  if (answer !== null)
    return (
      <p className={styles.answered}>
        <code>{call?.slug ?? request.reason}</code> <AnsweredBy resolver={answer.resolved_by} decision={answer.decision} />
        {answer.comment !== null && <q>{answer.comment}</q>}
      </p>
    );
  const question: Question = {
    id: request.approval_id,
    runId: entry.runId,
    slug: call?.slug ?? null,
    reason: request.reason,
    prompt: request.prompt,
    args: request.args,
    argsHash: request.args_hash,
    responseSchema: request.response_schema,
    decisions: request.decisions,
    isCritical: call?.isCritical ?? false,
    floor: request.approver_floor,
    expiresAt: request.expires_at,
    onExpiry: request.on_expiry,
  };
  return <QuestionCard question={question} />;
}

function Child({
  entry,
  entries,
  workspaceId,
}: {
  readonly entry: ChildEntry;
  readonly entries: readonly Entry[];
  readonly workspaceId: string;
}) {
  const hasQuestion = entries.some((one) => one.kind === 'question' && one.answer === null && one.runId === entry.childRunId);
  return (
    <details className={styles.child} open={hasQuestion || undefined}>
      <summary>
        <span>{t.run.tree}</span> <Status status={entry.status} />
        <Link to="/w/$workspaceId/runs/$runId" params={{ workspaceId, runId: entry.childRunId }}>
          {entry.childRunId.slice(-12)}
        </Link>
      </summary>
      {entry.summary !== null && <p className={styles.plain}>{entry.summary}</p>}
      <Entries entries={entries} runId={entry.childRunId} workspaceId={workspaceId} />
    </details>
  );
}
