import { useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { api } from '../app/api.ts';
import { Fault } from '../ui/notice.tsx';
import type { RevisionDocument } from './draft.ts';
import { agentTexts as a } from './messages.ts';

const { draft: d } = a;
const pauseMs = 1_000;

/** What the server finds wrong with a document while it is typed; it is asked at most once a second. */
export function Validation({ agentId, document }: { readonly agentId: string; readonly document: RevisionDocument }) {
  const text = JSON.stringify(document);
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    if (settled === text) return;
    const timer = setTimeout(() => setSettled(text), pauseMs);
    return () => clearTimeout(timer);
  }, [text, settled]);
  const found = useQuery({
    queryKey: ['agents', agentId, 'validate', settled],
    queryFn: ({ signal }) =>
      api.validateAgentRevision({ agent_id: agentId, revision: JSON.parse(settled) as RevisionDocument }, { signal }), // as it was typed
    staleTime: Number.POSITIVE_INFINITY,
    placeholderData: (last) => last,
  });
  if (found.error !== null) return <Fault error={found.error} onRetry={() => void found.refetch()} />;
  if (found.data === undefined) return <p role="status">{d.checking}</p>;
  const { problems, prompt_tokens_estimate: tokens } = found.data;
  return (
    <div role="status">
      <p>{problems.length === 0 ? d.valid(tokens) : d.problems(problems.length)}</p>
      {problems.length > 0 && (
        <ul>
          {problems.map(({ severity, pointer, rule, message }) => (
            <li key={`${pointer} ${rule} ${message}`}>
              {d.severity[severity] ?? severity}: <code>{pointer || '/'}</code> {message}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
