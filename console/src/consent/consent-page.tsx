import { useQuery } from '@tanstack/react-query';
import { api } from '../app/api.ts';
import { CardPage } from '../app/card-page.tsx';
import { t } from '../messages/en.ts';
import { Fault, Notice } from '../ui/notice.tsx';
import { Decision } from './decision.tsx';
import { consentTexts as c } from './messages.ts';
import { consentRoute } from './routes.ts';

type Asked = ReturnType<typeof consentRoute.useSearch>;

/**
 * Where the API sends a browser whose application asks for access. The address repeats the request, and the page opens a transaction for exactly that: what is
 * on screen is what is decided, whatever transaction the address names.
 */
export function ConsentPage() {
  const asked = consentRoute.useSearch();
  const transaction = useQuery({
    queryKey: ['consent', asked],
    queryFn: ({ signal }) => open(asked, signal),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    refetchOnWindowFocus: false,
    enabled: isComplete(asked),
  });
  if (!isComplete(asked))
    return (
      <CardPage title={t.product}>
        <Notice tone="warn" text={c.incomplete} />
      </CardPage>
    );
  if (transaction.data !== undefined) return <Decision transaction={transaction.data} />;
  return (
    <CardPage title={t.product}>
      {transaction.error === null ? <p role="status">{t.list.loading}</p> : <Fault error={transaction.error} />}
    </CardPage>
  );
}

function isComplete({ client_id, redirect_uri, code_challenge }: Asked): boolean {
  return client_id !== undefined && redirect_uri !== undefined && code_challenge !== undefined;
}

function open({ client_id = '', redirect_uri = '', code_challenge = '', scope, state, resource }: Asked, signal: AbortSignal) {
  return api.startAuthorization(
    {
      response_type: 'code',
      client_id,
      redirect_uri,
      code_challenge,
      code_challenge_method: 'S256',
      ...(scope !== undefined && { scope }),
      ...(state !== undefined && { state }),
      ...(resource !== undefined && { resource }),
    },
    { signal },
  );
}
