import { useState } from 'react';
import { Button } from 'react-aria-components';
import { useMay } from '../app/access.ts';
import { api, type Views } from '../app/api.ts';
import { Check } from '../ui/check.tsx';
import { Area } from '../ui/fields.tsx';
import { Json } from '../ui/json.tsx';
import { readJson } from '../ui/read-json.ts';
import { Fault, Notice } from '../ui/notice.tsx';
import { Section } from '../ui/page.tsx';
import { useIntent } from '../ui/use-intent.ts';
import { toolTexts as o } from './messages.ts';

/** Calls a tool once with arguments, or shows the request that it would send. */
export function TestTool({ tool }: { readonly tool: Views['ToolView'] }) {
  const isAdmin = useMay('admin');
  const mayRun = isAdmin || tool.effect === 'read';
  const [text, setText] = useState('{}');
  const [isDry, setDry] = useState(true);
  const [result, setResult] = useState<Views['ToolTestView'] | null>(null);
  const { value, problem } = readJson(text);
  const test = useIntent(async (content: Views['ToolTest'], options) => {
    setResult(null);
    setResult(await api.testTool({ tool_id: tool.id, ...content }, options));
  });
  // The server says if the arguments are not an object.
  const run = () => void test.send({ arguments: value as Views['ToolTest']['arguments'], dry_run: isDry || !mayRun });
  return (
    <Section title={o.test}>
      {!mayRun && <p className="hint">{o.writes}</p>}
      <Area label={o.arguments} value={text} onChange={setText} error={problem} isMono />
      <Check label={o.dryRun} isChecked={isDry || !mayRun} isDisabled={!mayRun} onChange={setDry} />
      {test.error !== null && <Fault error={test.error} />}
      <div className="actions">
        <Button isPending={test.isBusy} isDisabled={problem !== null} onPress={run}>
          {o.run}
        </Button>
      </div>
      {result !== null && <Result result={result} />}
    </Section>
  );
}

function Result({ result: { status, error, output, request, duration_ms } }: { readonly result: Views['ToolTestView'] }) {
  return (
    <>
      <Notice
        tone={status === 'succeeded' ? 'plain' : 'warn'}
        text={`${o.status[status]}, ${o.duration(duration_ms)}`}
        detail={error === null ? [] : [error.message]}
      />
      {request !== null && <Json value={request} label={o.request} />}
      {output !== null && output !== undefined && <Json value={output} label={o.result} />}
    </>
  );
}
