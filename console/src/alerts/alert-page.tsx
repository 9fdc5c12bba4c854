import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Button } from 'react-aria-components';
import { ApiError, etagOf } from '@longhaul/client';
import { useMay } from '../app/access.ts';
import { api, type Views } from '../app/api.ts';
import { NotFound } from '../app/not-found.tsx';
import { t } from '../messages/en.ts';
import { ActionDialog } from '../ui/action-dialog.tsx';
import type { Column } from '../ui/data-grid.tsx';
import { Fault } from '../ui/notice.tsx';
import { Facts, Page, Section } from '../ui/page.tsx';
import { Table } from '../ui/table.tsx';
import { Time } from '../ui/time.tsx';
import { useIntent } from '../ui/use-intent.ts';
import { AlertState } from './alert-state.tsx';
import { alertTexts as a } from './messages.ts';
import { alertRoute } from './routes.ts';

type Alert = Views['AlertView'];

/** One alert: what it is about, how it came, who was told, and what can be done about it. */
export function AlertPage() {
  const { alertId, workspaceId } = alertRoute.useParams();
  const mayAct = useMay('member');
  const alert = useQuery({
    queryKey: ['alert', alertId],
    queryFn: ({ signal }) => api.getAlert({ alert_id: alertId }, { signal }),
    refetchInterval: ({ state }) => (state.data?.status === 'resolved' ? false : 5_000),
  });
  if (alert.error instanceof ApiError && alert.error.status === 404) return <NotFound />;
  if (alert.data === undefined)
    return alert.error === null ? (
      <p role="status">{t.list.loading}</p>
    ) : (
      <Fault error={alert.error} onRetry={() => void alert.refetch()} />
    );
  const { title, status, rule_id, rule_name, value, threshold, opened_at, last_seen_at, resolved_at, resolution } = alert.data;
  return (
    <Page title={title} actions={<AlertState state={status} />}>
      {mayAct && <AlertActions alert={alert.data} />}
      <Facts
        facts={[
          [
            a.facts.rule,
            <Link key="rule" to="/w/$workspaceId/alerts" params={{ workspaceId }} search={{ rule_id }}>
              {rule_name}
            </Link>,
          ],
          [a.facts.value, value],
          [a.facts.threshold, threshold],
          [a.facts.opened, <Time key="opened" at={opened_at} />],
          [a.facts.seen, <Time key="seen" at={last_seen_at} />],
          [a.facts.resolved, resolved_at && <Time key="resolved" at={resolved_at} />],
          [a.facts.how, resolution?.replaceAll('_', ' ')],
        ]}
      />
      <History alert={alert.data} />
    </Page>
  );
}

type Transition = NonNullable<Alert['transitions']>[number];
type Delivery = NonNullable<Alert['deliveries']>[number];

const transitionColumns: readonly Column<Transition>[] = [
  { id: 'at', title: a.transition.at, cell: ({ at }) => <Time at={at} /> },
  { id: 'change', title: a.transition.change, cell: ({ from, to }) => `${from} → ${to}`.replaceAll('_', ' ') },
  { id: 'value', title: a.transition.value, align: 'end', cell: ({ value }) => value },
];
const deliveryColumns: readonly Column<Delivery>[] = [
  { id: 'at', title: a.delivery.at, cell: ({ sent_at }) => sent_at && <Time at={sent_at} /> },
  { id: 'event', title: a.delivery.event, cell: ({ event }) => event },
  { id: 'target', title: a.delivery.target, cell: ({ target }) => `${target.kind} ${target.label ?? ''}` },
  { id: 'status', title: a.delivery.status, cell: ({ status }) => <AlertState state={status} /> },
  { id: 'error', title: a.delivery.error, cell: ({ last_error }) => last_error },
];

function History({ alert: { transitions = [], deliveries = [] } }: { readonly alert: Alert }) {
  return (
    <>
      <Section title={a.history}>
        <Table label={a.history} rows={transitions} keyOf={({ at, to }) => `${at} ${to}`} columns={transitionColumns} />
      </Section>
      {deliveries.length > 0 && (
        <Section title={a.deliveries}>
          <Table label={a.deliveries} rows={deliveries} keyOf={({ id }) => id} columns={deliveryColumns} />
        </Section>
      )}
    </>
  );
}

const dayMs = 86_400_000;

function AlertActions({ alert }: { readonly alert: Alert }) {
  const queries = useQueryClient();
  const refresh = () => queries.invalidateQueries({ queryKey: ['alert', alert.id] });
  const change = useIntent(async (content: Views['AlertUpdate'], options) => {
    await api.updateAlert({ alert_id: alert.id, ...content }, { ...options, ifMatch: etagOf(alert) });
    await refresh();
  });
  if (alert.status === 'resolved') return null;
  const isAcknowledged = alert.acknowledged_at !== null;
  const isQuiet = alert.snoozed_until !== null;
  return (
    <>
      {change.error !== null && <Fault error={change.error} />}
      <div className="actions">
        <Button isPending={change.isBusy} onPress={() => void change.send({ acknowledged: !isAcknowledged })}>
          {isAcknowledged ? a.unacknowledge : a.acknowledge}
        </Button>
        <Button
          isPending={change.isBusy}
          onPress={() => void change.send({ snooze_until: isQuiet ? null : new Date(Date.now() + dayMs).toISOString() })}
        >
          {isQuiet ? a.wake : a.snooze}
        </Button>
        <ActionDialog
          label={a.resolve}
          title={a.resolveTitle}
          submit={a.resolveSubmit}
          content={{ alert_id: alert.id, resolve: true as const }}
          write={(content, options) => api.updateAlert(content, options)}
          onDone={() => void refresh()}
        >
          <p>{a.resolveText}</p>
        </ActionDialog>
      </div>
    </>
  );
}
