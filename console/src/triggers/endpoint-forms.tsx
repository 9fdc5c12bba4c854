import { useQueryClient } from '@tanstack/react-query';
import { etagOf } from '@longhaul/client';
import { api, type Views } from '../app/api.ts';
import { t } from '../messages/en.ts';
import { FormDialog } from '../ui/form-dialog.tsx';
import type { FormField, Values } from '../ui/form-fields.tsx';
import { useAgents } from '../app/use-agents.ts';
import { choices, isTrue, jsonText, objectOf, textOf } from '../ui/form-values.ts';
import { templateFields, templatesOf, templateValues } from './definition.ts';
import { triggerTexts as x } from './messages.ts';

const e = x.endpoint;

const editable: readonly FormField[] = [
  { kind: 'choice', name: 'response_mode', label: e.mode, options: choices(e.modes) },
  { name: 'response_path', label: e.path },
  { name: 'callback_url', label: e.callback },
  { name: 'rate_limit_per_minute', label: e.rate, inputMode: 'numeric' },
  { kind: 'area', name: 'coalescing', label: e.coalescing, hint: e.coalescingHint, isMono: true },
  { kind: 'check', name: 'is_active', label: x.active },
];
const fixed: readonly FormField[] = [
  { name: 'slug', label: e.slug },
  { kind: 'choice', name: 'http_method', label: e.method, options: ['POST', 'GET'].map((id) => ({ id, label: id })) },
  { kind: 'choice', name: 'verification', label: e.verification, options: choices(e.verifications) },
  { name: 'event_kind', label: e.eventKind },
  { kind: 'check', name: 'unverified_ack', label: e.unverified },
];

const modes = ['async', 'sync', 'callback', 'ack'] as const;
const verifications = ['hmac_sha256', 'shared_token', 'none'] as const;

function toFields(values: Values) {
  const templates = templatesOf(values);
  const coalescing = objectOf(values['coalescing']);
  if (templates === null || coalescing === undefined) return null;
  return {
    ...templates,
    prompt_template: textOf(values['prompt_template']) === null ? null : (values['prompt_template'] ?? null),
    response_mode: modes.find((one) => one === values['response_mode']) ?? 'async',
    response_path: textOf(values['response_path']),
    callback_url: textOf(values['callback_url']),
    rate_limit_per_minute: Number(values['rate_limit_per_minute']),
    coalescing: (coalescing ?? { mode: 'none' }) as Views['CoalescingConfig'], // the server checks it and points at the field
    is_active: isTrue(values['is_active']),
  } satisfies Views['WebhookEndpointUpdate'];
}

interface AddEndpointProps {
  readonly workspaceId: string;
  readonly onSecret: (secret: string | null) => void;
}

/** A new webhook. Its secret lies in the view's memory until its dialog closes, and nowhere else. */
export function AddEndpoint({ workspaceId, onSecret }: AddEndpointProps) {
  const queries = useQueryClient();
  const agents = useAgents();
  return (
    <FormDialog<Views['WebhookEndpointCreate']>
      label={e.add}
      title={e.addTitle}
      submit={t.actions.save}
      isPrimary
      fields={[...fixed, { kind: 'choice', name: 'agent_id', label: x.agent, options: agents.options }, ...editable, ...templateFields]}
      initial={{
        agent_id: agents.options[0]?.id ?? '',
        http_method: 'POST',
        verification: 'hmac_sha256',
        response_mode: 'async',
        rate_limit_per_minute: '60',
        coalescing: jsonText({ mode: 'none' }),
        prompt_template: '{{ body | json | fence }}',
        is_active: 'true',
        subject_kind: 'none',
      }}
      toContent={(values) => {
        const fields = toFields(values);
        const slug = textOf(values['slug']);
        const agent_id = values['agent_id'] ?? '';
        if (fields === null || slug === null || agent_id === '') return null;
        const { prompt_template, ...rest } = fields;
        return {
          ...rest,
          ...(prompt_template !== null && { prompt_template }),
          workspace_id: workspaceId,
          agent_id,
          slug,
          http_method: values['http_method'] === 'GET' ? 'GET' : 'POST',
          verification: verifications.find((one) => one === values['verification']) ?? 'hmac_sha256',
          event_kind: textOf(values['event_kind']),
          unverified_ack: isTrue(values['unverified_ack']),
        };
      }}
      write={async (content, options) => onSecret((await api.createWebhookEndpoint(content, options)).secret)}
      onDone={() => void queries.invalidateQueries({ queryKey: ['webhook-endpoints'] })}
    />
  );
}

export function EditEndpoint({ endpointId }: { readonly endpointId: string }) {
  const queries = useQueryClient();
  return (
    <FormDialog
      label={x.edit}
      title={e.editTitle}
      submit={t.actions.save}
      fields={[...editable, ...templateFields]}
      read={async () => {
        const now = await api.getWebhookEndpoint({ endpoint_id: endpointId });
        const values = {
          ...templateValues(now),
          response_mode: now.response_mode,
          response_path: now.response_path ?? '',
          callback_url: now.callback_url ?? '',
          rate_limit_per_minute: String(now.rate_limit_per_minute),
          coalescing: jsonText(now.coalescing),
          is_active: now.is_active ? 'true' : '',
        };
        return { values, etag: etagOf(now) };
      }}
      toContent={toFields}
      write={(content, options) => api.updateWebhookEndpoint({ endpoint_id: endpointId, ...content }, options)}
      onDone={() => void queries.invalidateQueries({ queryKey: ['webhook-endpoint', endpointId] })}
    />
  );
}

interface RotateProps {
  readonly endpointId: string;
  readonly onSecret: (secret: string | null) => void;
}

export function RotateSecret({ endpointId, onSecret }: RotateProps) {
  const queries = useQueryClient();
  return (
    <FormDialog
      label={e.rotate}
      title={e.rotateTitle}
      submit={e.rotateSubmit}
      tone="danger"
      fields={[{ name: 'overlap_seconds', label: e.overlap, inputMode: 'numeric' }]}
      initial={{ overlap_seconds: '86400' }}
      toContent={({ overlap_seconds = '' }) => (overlap_seconds.trim() === '' ? null : { overlap_seconds: Number(overlap_seconds) })}
      write={async (content) => onSecret((await api.rotateWebhookEndpointSecret({ endpoint_id: endpointId, ...content })).secret)}
      onDone={() => void queries.invalidateQueries({ queryKey: ['webhook-endpoint', endpointId] })}
    />
  );
}
