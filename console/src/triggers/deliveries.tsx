import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useCallback } from 'react';
import { Button, Dialog, DialogTrigger, Heading, Modal, ModalOverlay } from 'react-aria-components';
import { api, type Views } from '../app/api.ts';
import { t } from '../messages/en.ts';
import { ActionDialog } from '../ui/action-dialog.tsx';
import { Choice } from '../ui/choice.tsx';
import type { Column } from '../ui/data-grid.tsx';
import { Json, LongText } from '../ui/json.tsx';
import { Facts, Filters, ListState, Section } from '../ui/page.tsx';
import { usePagedList } from '../ui/paged-list.ts';
import { oneOf } from '../ui/search.ts';
import { Table } from '../ui/table.tsx';
import { Time } from '../ui/time.tsx';
import { triggerTexts as x } from './messages.ts';
import { endpointRoute } from './routes.ts';
import { RunLink } from './run-link.tsx';
import { TriggerState } from './trigger-state.tsx';

const e = x.endpoint;
type Delivery = Views['WebhookDeliveryView'];

const statuses = ['started', 'published', 'coalescing', 'merged', 'dropped', 'rejected', 'failed'] as const;

const columns: readonly Column<Delivery>[] = [
  { id: 'received', title: e.received, cell: ({ received_at }) => <Time at={received_at} /> },
  { id: 'status', title: x.status, cell: ({ status }) => <TriggerState state={status} /> },
  { id: 'answered', title: e.answered, align: 'end', cell: ({ response_status }) => response_status },
  { id: 'error', title: e.error, cell: ({ error }) => error && errorText(error) },
  { id: 'run', title: x.run, cell: ({ run_id }) => <RunLink runId={run_id} /> },
  {
    id: 'actions',
    title: x.actions,
    cell: (delivery) => (
      <div className="actions">
        <Details delivery={delivery} />
        <Replay delivery={delivery} />
      </div>
    ),
  },
];

/** What has arrived, newest first. */
export function Deliveries({ endpointId }: { readonly endpointId: string }) {
  const { workspaceId } = endpointRoute.useParams();
  const navigate = useNavigate();
  const status = oneOf(statuses, endpointRoute.useSearch().status);
  const fetchPage = useCallback(
    (cursor: string | undefined, signal?: AbortSignal) =>
      api.listWebhookDeliveries({ endpoint_id: endpointId, ...(status !== undefined && { status }), cursor, limit: 50 }, { signal }),
    [endpointId, status],
  );
  const list = usePagedList<Delivery>({ queryKey: ['deliveries', endpointId, status], fetchPage });
  return (
    <Section title={e.deliveries}>
      <Filters label={x.filters}>
        <Choice
          label={x.status}
          value={status ?? ''}
          options={[{ id: '', label: x.any }, ...statuses.map((id) => ({ id, label: id }))]}
          onChange={(value) =>
            void navigate({
              to: '/w/$workspaceId/webhook-endpoints/$endpointId',
              params: { workspaceId, endpointId },
              search: value === '' ? {} : { status: value },
              replace: true,
            })
          }
        />
      </Filters>
      {list.rows.length > 0 && <Table label={e.deliveries} columns={columns} rows={list.rows} keyOf={({ id }) => id} />}
      <ListState list={list} isFiltered={status !== undefined} />
    </Section>
  );
}

function Details({ delivery }: { readonly delivery: Delivery }) {
  const { callback, warnings, error, body_preview } = delivery;
  return (
    <DialogTrigger>
      <Button>{e.details}</Button>
      <ModalOverlay isDismissable>
        <Modal>
          <Dialog>
            <Heading slot="title" level={2}>
              {e.detailTitle}
            </Heading>
            <Facts
              facts={[
                [x.status, <TriggerState key="status" state={delivery.status} />],
                [e.received, <Time key="received" at={delivery.received_at} />],
                [e.answered, delivery.response_status],
                [e.error, error && errorText(error)],
                [e.verification, delivery.verification_form],
                [e.copies, delivery.duplicate_count],
                [e.replayOf, delivery.replay_of],
                [e.callbackState, callback && `${callback.status} (${callback.attempts})`],
                [e.warnings, warnings.map(({ message }) => message).join(' ') || null],
              ]}
            />
            <Json label={e.headers} value={delivery.headers} />
            {Object.keys(delivery.query).length > 0 && <Json label={e.query} value={delivery.query} />}
            {body_preview !== null && <LongText label={e.preview} text={body_preview} />}
            <div className="actions">
              <Button slot="close">{t.actions.close}</Button>
            </div>
          </Dialog>
        </Modal>
      </ModalOverlay>
    </DialogTrigger>
  );
}

function Replay({ delivery: { id, endpoint_id, status } }: { readonly delivery: Delivery }) {
  const queries = useQueryClient();
  return (
    <ActionDialog
      label={e.replay}
      title={e.replayTitle}
      submit={e.replaySubmit}
      disabledBecause={status === 'rejected' || status === 'coalescing' ? e.noReplay[status] : null}
      content={{ endpoint_id, delivery_id: id }}
      write={(content, options) => api.replayWebhookDelivery(content, options)}
      onDone={() => void queries.invalidateQueries({ queryKey: ['deliveries', endpoint_id] })}
    >
      <p>{e.replayText}</p>
    </ActionDialog>
  );
}

function errorText({ code, reason }: NonNullable<Delivery['error']>): string {
  return [code, reason].filter(Boolean).join(': ').replaceAll('_', ' ');
}
