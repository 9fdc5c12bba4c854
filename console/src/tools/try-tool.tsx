import { useState } from 'react';
import { Button } from 'react-aria-components';
import { api, type Views } from '../app/api.ts';
import { Area } from '../ui/fields.tsx';
import { Json, LongText } from '../ui/json.tsx';
import { Fault, Notice } from '../ui/notice.tsx';
import { Section } from '../ui/page.tsx';
import { useIntent } from '../ui/use-intent.ts';
import { objectOf } from './json-text.ts';
import { toolTexts as x } from './messages.ts';

type Outcome = Views['ToolTestView'];

/** Calls a tool by hand, or shows the request that a call would send. */
export function TryTool({ tool }: { readonly tool: Pick<Views['ToolView'], 'id' | 'effect'> }) {
  const [text, setText] = useState('{}');
  const [outcome, setOutcome] = useState<Outcome | null>(null);
  const args = objectOf(text);
  const { send, isBusy, error } = useIntent(async (content: Parameters<typeof api.testTool>[0], options) => {
    setOutcome(null);
    setOutcome(await api.testTool(content, options));
  });
  const call = (isDry: boolean) => args !== null && void send({ tool_id: tool.id, arguments: args, dry_run: isDry });
  return (
    <Section title={x.test.title}>
      <Area
        label={x.test.arguments}
        rows={4}
        isMono
        value={text}
        onChange={setText}
        hint={tool.effect === 'write' ? x.test.writes : undefined}
        error={args === null ? x.fields.jsonHint : null}
      />
      <div className="actions">
        <Button isPending={isBusy} isDisabled={args === null} onPress={() => call(true)}>
          {x.test.dryRun}
        </Button>
        <Button isPending={isBusy} isDisabled={args === null} onPress={() => call(false)}>
          {x.test.run}
        </Button>
      </div>
      {error !== null && <Fault error={error} />}
      {outcome !== null && <Shown outcome={outcome} />}
    </Section>
  );
}

function Shown({
  outcome: { status, duration_ms, output, output_type, truncated, total_chars, request, error },
}: {
  readonly outcome: Outcome;
}) {
  return (
    <>
      <p role="status">{x.test.took(status, duration_ms)}</p>
      {error !== null && <Notice tone="bad" text={`${error.code}: ${error.message}`} />}
      {request !== null && <Json value={request} label={x.test.request} />}
      {output !== null && output !== undefined && (
        <>
          {output_type === 'text' ? (
            <LongText text={String(output)} label={x.test.output} />
          ) : (
            <Json value={output} label={x.test.output} />
          )}
          {truncated && <p className="hint">{x.test.truncated(total_chars)}</p>}
        </>
      )}
    </>
  );
}
