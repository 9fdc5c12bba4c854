import { useState } from 'react';
import { Button } from 'react-aria-components';
import { useMay } from '../app/access.ts';
import { api, type Views } from '../app/api.ts';
import { t } from '../messages/en.ts';
import { Check } from '../ui/check.tsx';
import { Choice } from '../ui/choice.tsx';
import { Json } from '../ui/json.tsx';
import { Fault } from '../ui/notice.tsx';
import { Time } from '../ui/time.tsx';
import { Blocks } from './blocks.tsx';
import { ForkRun } from './fork-run.tsx';
import { t as own } from './messages.ts';
import styles from './run.module.css';
import { usePaged } from './use-paged.ts';

type Message = Views['MessageView'];

interface RunMessagesProps {
  readonly runId: string;
  readonly workspaceId: string;
  readonly isLive: boolean;
}

/** The messages as the model gets them, of a run or of its conversation. A run that has ended can go on from each of them. */
export function RunMessages({ runId, workspaceId, isLive }: RunMessagesProps) {
  const [scope, setScope] = useState<'run' | 'conversation'>('run');
  const [hasDiscarded, setDiscarded] = useState(false);
  const mayFork = useMay('member') && !isLive;
  const messages = usePaged<Message>({
    queryKey: ['run', runId, 'messages', scope, hasDiscarded],
    fetchPage: (cursor, signal) =>
      api.listRunMessages({ run_id: runId, scope, include_discarded: hasDiscarded, limit: 100, cursor }, { signal }),
    isLive,
  });
  return (
    <>
      <div className={styles.choices}>
        <Choice
          label={own.messages.scope}
          value={scope}
          onChange={setScope}
          options={[
            { id: 'run', label: own.messages.ofRun },
            { id: 'conversation', label: own.messages.ofConversation },
          ]}
        />
        <Check label={own.messages.discarded} isChecked={hasDiscarded} onChange={setDiscarded} />
      </div>
      {messages.error !== null && <Fault error={messages.error} onRetry={messages.again} />}
      {messages.isLoading && <p role="status">{t.list.loading}</p>}
      {!messages.isLoading && messages.error === null && messages.items.length === 0 && <p className="hint">{own.messages.empty}</p>}
      <ol className={styles.entries}>
        {messages.items.map((message) => (
          <li key={message.id}>
            <OneMessage message={message} workspaceId={workspaceId} canFork={mayFork && message.state === 'committed'} />
          </li>
        ))}
      </ol>
      {messages.hasMore && (
        <div>
          <Button isPending={messages.isLoadingMore} onPress={messages.loadMore}>
            {t.actions.more}
          </Button>
        </div>
      )}
    </>
  );
}

interface OneMessageProps {
  readonly message: Message;
  readonly workspaceId: string;
  readonly canFork: boolean;
}

function OneMessage({ message, workspaceId, canFork }: OneMessageProps) {
  const { role, model, created_at, state, content, tool_calls, tool_call_id } = message;
  const note = own.messages.states[state];
  return (
    <article
      className={`${styles.message} ${role === 'user' ? styles.person : ''} ${state === 'discarded' ? styles.discarded : ''}`}
      aria-label={role}
    >
      <h2 className={styles.name}>
        {role}
        {model !== null && ` (${model})`} <Time at={created_at} />
        {note !== undefined && <span>{note}</span>}
      </h2>
      {tool_call_id !== null && (
        <p className="hint">
          {own.messages.answers} <code>{tool_call_id.slice(-12)}</code>
        </p>
      )}
      <Blocks content={content} isMarkdown={role === 'assistant'} />
      {tool_calls.map((call) => (
        <details key={call.tool_call_id} className={styles.call}>
          <summary>
            <code className={styles.slug}>{call.slug}</code>
            <span className={styles.short}>{call.tool_call_id.slice(-12)}</span>
          </summary>
          <div className={styles.callBody}>
            <Json value={call.args} label={t.run.args} />
          </div>
        </details>
      ))}
      {canFork && (
        <div className="actions">
          <ForkRun runId={message.run_id} messageId={message.id} isUsers={role === 'user'} workspaceId={workspaceId} />
        </div>
      )}
    </article>
  );
}
