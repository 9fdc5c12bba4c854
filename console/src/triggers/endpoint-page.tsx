import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { ApiError } from '@longhaul/client';
import { useMay } from '../app/access.ts';
import { api, type Views } from '../app/api.ts';
import { NotFound } from '../app/not-found.tsx';
import { t } from '../messages/en.ts';
import { ActionDialog } from '../ui/action-dialog.tsx';
import { Fault } from '../ui/notice.tsx';
import { Facts, Page } from '../ui/page.tsx';
import { ShownOnce } from '../ui/shown-once.tsx';
import { useAgents } from '../app/use-agents.ts';
import { Deliveries } from './deliveries.tsx';
import { EditEndpoint, RotateSecret } from './endpoint-forms.tsx';
import { triggerTexts as x } from './messages.ts';
import { endpointRoute } from './routes.ts';
import { ActiveState } from './trigger-state.tsx';
import { TryEndpoint } from './try-endpoint.tsx';

const e = x.endpoint;

/** One webhook, and what has arrived at it. */
export function EndpointPage() {
  const { endpointId, workspaceId } = endpointRoute.useParams();
  const { nameOf } = useAgents();
  const maySeeDeliveries = useMay('member');
  const endpoint = useQuery({
    queryKey: ['webhook-endpoint', endpointId],
    queryFn: ({ signal }) => api.getWebhookEndpoint({ endpoint_id: endpointId }, { signal }),
    refetchInterval: 5_000,
  });
  if (endpoint.error instanceof ApiError && endpoint.error.status === 404) return <NotFound />;
  if (endpoint.data === undefined)
    return endpoint.error === null ? (
      <p role="status">{t.list.loading}</p>
    ) : (
      <Fault error={endpoint.error} onRetry={() => void endpoint.refetch()} />
    );
  const { slug, is_active, agent_id, http_method, verification, response_mode, event_kind, call_count } = endpoint.data;
  return (
    <Page title={slug} actions={<ActiveState isActive={is_active} />}>
      {maySeeDeliveries && <EndpointActions endpoint={endpoint.data} />}
      <Facts
        facts={[
          [e.address, <code key="address">{`${http_method} ${location.origin}/hooks/${workspaceId}/${slug}`}</code>],
          [x.agent, nameOf(agent_id)],
          [e.verification, e.verifications[verification]],
          [e.mode, e.modes[response_mode]],
          [e.eventKind, event_kind],
          [e.calls, call_count],
        ]}
      />
      {maySeeDeliveries && <Deliveries endpointId={endpointId} />}
    </Page>
  );
}

function EndpointActions({ endpoint }: { readonly endpoint: Views['WebhookEndpointView'] }) {
  const { workspaceId } = endpointRoute.useParams();
  const navigate = useNavigate();
  const mayWrite = useMay('admin');
  const [secret, setSecret] = useState<string | null>(null);
  const { id, verification } = endpoint;
  return (
    <div className="actions">
      <TryEndpoint endpoint={endpoint} />
      {mayWrite && (
        <>
          <EditEndpoint endpointId={id} />
          {verification !== 'none' && <RotateSecret endpointId={id} onSecret={setSecret} />}
          <ActionDialog
            label={x.delete}
            title={e.deleteTitle}
            submit={e.deleteSubmit}
            tone="danger"
            content={{ endpoint_id: id }}
            write={(content) => api.deleteWebhookEndpoint(content)}
            onDone={() => void navigate({ to: '/w/$workspaceId/webhook-endpoints', params: { workspaceId } })}
          >
            <p>{e.deleteText}</p>
          </ActionDialog>
          <ShownOnce title={e.secret} secret={secret} onClose={() => setSecret(null)} />
        </>
      )}
    </div>
  );
}
