import { useEffect, useState } from 'react';
import { api, type Views } from '../app/api.ts';
import { Fault, Notice } from '../ui/notice.tsx';
import { agentTexts as a } from './messages.ts';

const pauseMs = 1_000;

interface Verdict {
  readonly text: string;
  readonly view: Views['RevisionValidationView'] | null;
  readonly error: unknown;
}

export interface ValidationState {
  readonly isCurrent: boolean;
  readonly verdict: Verdict | null;
  /** What is wrong with a field of the document; null: nothing that is known. */
  readonly at: (name: string) => string | null;
}

/** What the server thinks of a document, asked once its typist pauses for a second, so never more often than that. */
export function useValidation(agentId: string, document: Views['RevisionDocument']): ValidationState {
  const [verdict, setVerdict] = useState<Verdict | null>(null);
  const text = JSON.stringify(document);
  useEffect(() => {
    const abort = new AbortController();
    const timer = setTimeout(() => {
      // The text is that of the document.
      const revision = JSON.parse(text) as Views['RevisionDocument'];
      api.validateAgentRevision({ agent_id: agentId, revision }, { signal: abort.signal }).then(
        (view) => setVerdict({ text, view, error: null }),
        (error: unknown) => !abort.signal.aborted && setVerdict({ text, view: null, error }),
      );
    }, pauseMs);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [agentId, text]);
  const at = (name: string) => {
    const found = verdict?.view?.problems.filter(
      ({ severity, pointer }) => severity === 'error' && (pointer === `/${name}` || pointer.startsWith(`/${name}/`)),
    );
    return found === undefined || found.length === 0 ? null : found.map(({ message }) => message).join(' ');
  };
  return { isCurrent: verdict?.text === text, verdict, at };
}

export function Validation({ validation: { isCurrent, verdict } }: { readonly validation: ValidationState }) {
  if (!isCurrent || verdict === null)
    return (
      <p role="status" className="hint">
        {a.checking}
      </p>
    );
  if (verdict.view === null) return <Fault error={verdict.error} />;
  const { problems, valid } = verdict.view;
  return (
    <>
      {problems.length > 0 && (
        <Notice
          tone={valid ? 'plain' : 'warn'}
          text={a.problems}
          detail={problems.map(({ stage, pointer, message }) => a.problem(stage, pointer, message))}
        />
      )}
      {valid && (
        <p role="status" className="hint">
          {a.valid}
        </p>
      )}
    </>
  );
}
