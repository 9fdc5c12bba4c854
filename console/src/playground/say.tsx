import { useQueryClient } from '@tanstack/react-query';
import { useState, type ClipboardEvent, type KeyboardEvent } from 'react';
import { Button, DropZone, FileTrigger, Form, type DropZoneProps } from 'react-aria-components';
import { api } from '../app/api.ts';
import { t } from '../messages/en.ts';
import { Choice } from '../ui/choice.tsx';
import { useDraft } from '../ui/draft.ts';
import { Area } from '../ui/fields.tsx';
import { Fault } from '../ui/notice.tsx';
import { useIntent } from '../ui/use-intent.ts';
import type { Conversation } from './conversation.ts';
import { FileChips } from './file-chips.tsx';
import styles from './playground.module.css';
import { useUploads } from './use-uploads.ts';

type Dropped = Parameters<NonNullable<DropZoneProps['onDrop']>>[0];

interface SayProps {
  readonly workspaceId: string;
  readonly conversation: Conversation & { readonly agent: string };
  /** The run of the conversation that is under way; null: it is at rest. */
  readonly liveRunId: string | null;
  /** The first message names the conversation. */
  readonly onBegun: (session: string) => Promise<void>;
}

/** The next message of a conversation, with its files. */
export function Say({ workspaceId, conversation, liveRunId, onBegun }: SayProps) {
  const { agent, persona, revision, session } = conversation;
  const queries = useQueryClient();
  const [text, setText] = useDraft(`playground:${agent}:${session ?? ''}`);
  const [onBusy, setOnBusy] = useState<'enqueue' | 'steer'>('enqueue');
  const uploads = useUploads(workspaceId);
  // A first message that is sent again, after a lost answer, is that of the same conversation.
  const [named] = useState(() => session ?? `console-${crypto.randomUUID()}`);
  const start = useIntent(api.createRun.bind(api));
  const canSend = text.trim() !== '' && uploads.isReady;

  const send = async () => {
    if (!canSend) return;
    const attachments = uploads.files.flatMap(({ attachment }) => (attachment === null ? [] : [{ attachment_id: attachment.id }]));
    const isSent = await start.send({
      workspace_id: workspaceId,
      agent_id: agent,
      session_key: named,
      input: { text, ...(attachments.length > 0 && { attachments }) },
      on_busy: onBusy,
      ...(persona && { persona_slug: persona }),
      ...(revision && { revision_id: revision }),
    });
    if (!isSent) return;
    setText('');
    uploads.clear();
    if (session === undefined) await onBegun(named);
    await queries.invalidateQueries({ queryKey: ['playground'] });
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    void send();
  };
  const onPaste = (event: ClipboardEvent) => {
    const pasted = [...event.clipboardData.files];
    if (pasted.length === 0) return;
    event.preventDefault();
    uploads.add(pasted);
  };
  const onDrop = async ({ items }: Dropped) => {
    const dropped = await Promise.all(items.map((item) => (item.kind === 'file' ? item.getFile() : null)));
    uploads.add(dropped.filter((file) => file !== null));
  };
  return (
    <DropZone className={styles.drop ?? ''} aria-label={t.playground.drop} onDrop={(event) => void onDrop(event)}>
      <Form
        className={styles.say}
        onSubmit={(event) => {
          event.preventDefault();
          void send();
        }}
      >
        {start.error !== null && <Fault error={start.error} />}
        <Area
          label={t.playground.input}
          hint={t.playground.hint}
          rows={3}
          value={text}
          onChange={setText}
          onKeyDown={onKeyDown}
          onPaste={onPaste}
        />
        <FileChips files={uploads.files} onRemove={uploads.remove} onRetry={uploads.again} />
        <div className="actions">
          <Button type="submit" className="react-aria-Button primary" isPending={start.isBusy} isDisabled={!canSend}>
            {t.playground.send}
          </Button>
          <FileTrigger allowsMultiple onSelect={(chosen) => uploads.add([...(chosen ?? [])])}>
            <Button>{t.playground.attach}</Button>
          </FileTrigger>
          {liveRunId !== null && <Stop runId={liveRunId} />}
        </div>
        <p className="hint">{t.playground.attachHint}</p>
        {liveRunId !== null && (
          <Choice
            label={t.playground.busy}
            value={onBusy}
            onChange={setOnBusy}
            options={[
              { id: 'enqueue', label: t.playground.queue },
              { id: 'steer', label: t.playground.steer },
            ]}
          />
        )}
      </Form>
    </DropZone>
  );
}

/** Ends the turn that is under way, with what it has said so far. */
function Stop({ runId }: { readonly runId: string }) {
  const queries = useQueryClient();
  const { send, isBusy, error } = useIntent(api.cancelRun.bind(api));
  const stop = async () => {
    await send({ run_id: runId, policy: 'interrupt' });
    await queries.invalidateQueries({ queryKey: ['playground'] });
  };
  return (
    <>
      <Button isPending={isBusy} onPress={() => void stop()}>
        {t.playground.stop}
      </Button>
      {error !== null && <Fault error={error} />}
    </>
  );
}
