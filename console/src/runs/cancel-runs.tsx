import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Button, Dialog, DialogTrigger, Form, Heading, Modal, ModalOverlay } from 'react-aria-components';
import { api, type Views } from '../app/api.ts';
import { t } from '../messages/en.ts';
import { Choice } from '../ui/choice.tsx';
import { Field } from '../ui/fields.tsx';
import { Fault } from '../ui/notice.tsx';
import { useIntent } from '../ui/use-intent.ts';
import { t as own } from './messages.ts';
import type { RunFilters } from './run-filters.ts';
import { isRunLive } from './run-filters.ts';

/** So many are cancelled at a time; a request takes at most 200 ids. */
const most = 1_000;
const idsPerRequest = 200;
const liveStatuses = ['queued', 'running', 'waiting'] as const;

interface CancelRunsProps {
  readonly workspaceId: string;
  readonly filters: RunFilters;
}

/** Cancels all live runs that a list shows, after their count. */
export function CancelRuns({ workspaceId, filters }: CancelRunsProps) {
  const [isOpen, setOpen] = useState(false);
  const isFiltered = Object.keys(filters).length > 0;
  return (
    <DialogTrigger isOpen={isOpen} onOpenChange={setOpen}>
      <Button isDisabled={!isFiltered}>{own.bulk.open}</Button>
      {!isFiltered && <span className="hint">{own.bulk.noFilter}</span>}
      <ModalOverlay isDismissable>
        <Modal>
          <Dialog>
            <Heading slot="title" level={2}>
              {own.bulk.title}
            </Heading>
            <Counted workspaceId={workspaceId} filters={filters} />
          </Dialog>
        </Modal>
      </ModalOverlay>
    </DialogTrigger>
  );
}

function Counted({ workspaceId, filters }: CancelRunsProps) {
  const found = useQuery({
    queryKey: ['runs', 'live', workspaceId, filters],
    queryFn: ({ signal }) => liveRuns({ workspaceId, filters }, signal),
    // Counted once for a dialog: what it says is what it does.
    gcTime: 0,
    refetchOnWindowFocus: false,
  });
  if (found.error !== null) return <Fault error={found.error} onRetry={() => void found.refetch()} />;
  if (found.data === undefined) return <p role="status">{own.bulk.counting}</p>;
  const { ids, hasMore } = found.data;
  return (
    <>
      <p role="status">{ids.length === 0 ? own.bulk.none : own.bulk.count(ids.length)}</p>
      {hasMore && <p>{own.bulk.more(most)}</p>}
      {ids.length > 0 ? <CancelForm ids={ids} /> : <Button slot="close">{t.actions.close}</Button>}
    </>
  );
}

/** Ids of the live runs that a list would show, newest first. */
async function liveRuns({ workspaceId, filters }: CancelRunsProps, signal: AbortSignal) {
  const ids: string[] = [];
  for (const status of liveStatuses) {
    if (filters.status !== undefined && filters.status !== status) continue;
    for await (const run of api.listRuns({ ...filters, status, workspace_id: workspaceId, limit: 200 }, { signal })) {
      if (ids.length === most) return { ids, hasMore: true };
      if (isRunLive(run.status)) ids.push(run.id);
    }
  }
  return { ids, hasMore: false };
}

type Outcome = Pick<Views['RunBulkCancelView'], 'cancelled' | 'cancelling' | 'already_finished' | 'not_found'>;

function CancelForm({ ids }: { readonly ids: readonly string[] }) {
  const queries = useQueryClient();
  const [policy, setPolicy] = useState<'interrupt' | 'rollback'>('interrupt');
  const [reason, setReason] = useState('');
  const [outcome, setOutcome] = useState<Outcome | null>(null);
  const { send, isBusy, error } = useIntent(cancelAll);
  const cancel = async () => {
    const sum: Outcome[] = [];
    const isDone = await send({ ids, policy, reason: reason.trim() === '' ? null : reason.trim(), onOutcome: (part) => sum.push(part) });
    if (isDone) setOutcome(sum.reduce(added));
    await queries.invalidateQueries({ queryKey: ['runs'] });
  };
  if (outcome !== null) return <Outcomes outcome={outcome} />;
  return (
    <Form
      className="stack"
      onSubmit={(event) => {
        event.preventDefault();
        void cancel();
      }}
    >
      {error !== null && <Fault error={error} />}
      <Choice
        label={own.bulk.policy}
        value={policy}
        onChange={setPolicy}
        options={[
          { id: 'interrupt', label: t.run.interrupt },
          { id: 'rollback', label: t.run.rollback },
        ]}
      />
      <Field label={t.run.cancelReason} value={reason} onChange={setReason} />
      <div className="actions">
        <Button type="submit" className="react-aria-Button danger" isPending={isBusy}>
          {own.bulk.submit(ids.length)}
        </Button>
        <Button slot="close">{t.actions.back}</Button>
      </div>
    </Form>
  );
}

interface Cancelling {
  readonly ids: readonly string[];
  readonly policy: 'interrupt' | 'rollback';
  readonly reason: string | null;
  readonly onOutcome: (outcome: Outcome) => void;
}

/** In parts, each under a key of its own that is the same when all is sent again: a part that was done answers as it did. */
async function cancelAll({ ids, policy, reason, onOutcome }: Cancelling, { idempotencyKey }: { readonly idempotencyKey: string }) {
  for (let at = 0; at < ids.length; at += idsPerRequest) {
    const part = ids.slice(at, at + idsPerRequest);
    onOutcome(await api.cancelRuns({ ids: part, policy, reason }, { idempotencyKey: `${idempotencyKey}-${at}` }));
  }
}

function added(a: Outcome, b: Outcome): Outcome {
  return {
    cancelled: a.cancelled + b.cancelled,
    cancelling: a.cancelling + b.cancelling,
    already_finished: a.already_finished + b.already_finished,
    not_found: a.not_found + b.not_found,
  };
}

function Outcomes({ outcome }: { readonly outcome: Outcome }) {
  const lines = [
    [own.bulk.cancelled, outcome.cancelled],
    [own.bulk.cancelling, outcome.cancelling],
    [own.bulk.finished, outcome.already_finished],
    [own.bulk.notFound, outcome.not_found],
  ] as const;
  return (
    <>
      <div role="status">
        <p>{own.bulk.outcome}</p>
        <ul>
          {lines
            .filter(([, count]) => count > 0)
            .map(([label, count]) => (
              <li key={label}>
                {count} {label}
              </li>
            ))}
        </ul>
      </div>
      <Button slot="close">{t.actions.close}</Button>
    </>
  );
}
