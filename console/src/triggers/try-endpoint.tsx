import { useState } from 'react';
import { api, type Views } from '../app/api.ts';
import { FormDialog } from '../ui/form-dialog.tsx';
import { Json, LongText } from '../ui/json.tsx';
import { Facts, Section } from '../ui/page.tsx';
import { triggerTexts as x } from './messages.ts';
import { TriggerState } from './trigger-state.tsx';

const e = x.endpoint;

/** What a delivery would start, without starting it. */
export function TryEndpoint({ endpoint: { id, http_method } }: { readonly endpoint: Views['WebhookEndpointView'] }) {
  const [result, setResult] = useState<Views['WebhookTestView'] | null>(null);
  return (
    <>
      <FormDialog
        label={e.test}
        title={e.testTitle}
        submit={e.testSubmit}
        intro={<p>{e.testText}</p>}
        fields={[{ kind: 'area', name: 'raw_body', label: e.body, isMono: true, rows: 6 }]}
        initial={{ raw_body: '{}' }}
        toContent={({ raw_body = '' }) => ({ raw_body })}
        write={async ({ raw_body }) =>
          setResult(
            await api.testWebhookEndpoint({
              endpoint_id: id,
              method: http_method === 'GET' ? 'GET' : 'POST',
              ...(http_method !== 'GET' && { raw_body, headers: { 'content-type': 'application/json' } }),
            }),
          )
        }
      />
      {result !== null && <Outcome result={result} />}
    </>
  );
}

function Outcome({ result }: { readonly result: Views['WebhookTestView'] }) {
  return (
    <Section title={e.tried}>
      <p role="status">{e.wouldStart(result.would_start)}</p>
      <Facts
        facts={[
          [e.verificationResult, <TriggerState key="verification" state={result.verification.result} />],
          [e.refusal, result.refusal],
          [x.templates.session, result.session_key],
          [e.warnings, result.warnings.map(({ message }) => message).join(' ') || null],
        ]}
      />
      <LongText label={e.prompt} text={result.prompt} />
      {result.input !== null && <Json label={e.input} value={result.input} />}
    </Section>
  );
}
