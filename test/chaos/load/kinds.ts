import type { Fault, ScriptStep } from '../../fakes/model-server.ts';
import type { Seeded } from '../../support/seeded.ts';

/** What a run is made of, and so what may become of it. */
export type Kind =
  | 'plain'
  | 'tools'
  | 'line'
  | 'cancelled'
  | 'flaky model'
  | 'hanging tool'
  | 'huge output'
  | 'killer'
  | 'approvals'
  | 'questions'
  | "client's tools"
  | 'sub-agents'
  | 'steered'
  | 'superseded'
  | 'delayed'
  | 'capped';

/** Names of the tools of a deployment under test. */
export interface Slugs {
  readonly write: string;
  readonly keyed: string;
  readonly read: string;
  readonly hang: string;
  readonly huge: string;
  readonly killer: string;
  readonly gated: string;
  readonly critical: string;
  readonly client: string;
  readonly ask: string;
  readonly delegate: string;
}

export interface ScriptSource {
  readonly random: Seeded;
  readonly slugs: Slugs;
  /** A number that no other call has: what is done can be told apart by it. */
  nextNumber(): number;
  /** Registers the script of a sub-agent's turn and gives the words that call it. */
  childTask(steps: readonly ScriptStep[]): string;
}

/** What the model answers, turn by turn, in a run of a kind. */
export function stepsOf(kind: Kind, source: ScriptSource): ScriptStep[] {
  const { random, slugs } = source;
  const say = () => talk(random);
  switch (kind) {
    case 'plain':
    case 'line':
    case 'delayed':
    case 'superseded':
      return [say()];
    case 'cancelled':
      return random.next() < 0.5 ? [{ tokens: 2_000, delay_ms: 50 }] : [...toolTurns(source, 3), { tokens: 2_000, delay_ms: 50 }];
    case 'tools':
      return [...toolTurns(source, random.between(2, 5)), say()];
    case 'flaky model':
      return [
        { ...toolTurn(source), faults: faultsOf(random) },
        { ...say(), faults: faultsOf(random) },
      ];
    case 'hanging tool':
      return [turnOf(random, [numbered(source, slugs.hang), numbered(source, slugs.write)]), say()];
    case 'huge output':
      return [turnOf(random, [numbered(source, slugs.huge)]), say()];
    case 'killer':
      return [turnOf(random, [numbered(source, slugs.killer)]), say()];
    case 'approvals':
      return [gatedTurn(source), ...(random.next() < 0.5 ? [gatedTurn(source)] : []), say()];
    case 'questions':
      return [turnOf(random, [{ name: slugs.ask, arguments: { question: 'Which one?', options: ['the first', 'the second'] } }]), say()];
    case "client's tools":
      return [turnOf(random, [numbered(source, slugs.client), numbered(source, slugs.read)]), say()];
    case 'sub-agents':
      return [childTurn(source), say()];
    case 'capped':
      return [...toolTurns(source, 5), say()];
    case 'steered':
      return [...toolTurns(source, 2), { ...say(), tokens: 200 }];
    default:
      return kind satisfies never;
  }
}

/** One answer without calls, as a message that joins a run asks for. */
export function talk(random: Seeded): ScriptStep {
  return { tokens: random.between(40, 220), delay_ms: random.between(15, 80), first_token_ms: random.between(0, 500) };
}

interface Call {
  readonly name: string;
  readonly arguments: unknown;
}

function numbered(source: ScriptSource, name: string): Call {
  return { name, arguments: { n: source.nextNumber() } };
}

function turnOf(random: Seeded, calls: readonly Call[]): ScriptStep {
  return { ...talk(random), tokens: random.between(0, 20), tool_calls: calls };
}

function toolTurn(source: ScriptSource): ScriptStep {
  const { random, slugs } = source;
  const names = Array.from({ length: random.between(1, 3) }, () => random.pick([slugs.write, slugs.write, slugs.keyed, slugs.read]));
  return turnOf(
    random,
    names.map((name) => numbered(source, name)),
  );
}

function toolTurns(source: ScriptSource, count: number): ScriptStep[] {
  return Array.from({ length: count }, () => toolTurn(source));
}

function gatedTurn(source: ScriptSource): ScriptStep {
  const { random, slugs } = source;
  const names = [slugs.gated, ...(random.next() < 0.5 ? [random.pick([slugs.gated, slugs.critical, slugs.write])] : [])];
  return turnOf(
    random,
    names.map((name) => numbered(source, name)),
  );
}

/** One to three children at once; some of them ask people themselves. */
function childTurn(source: ScriptSource): ScriptStep {
  const { random, slugs } = source;
  const childSteps = () => (random.next() < 0.3 ? [gatedTurn(source), talk(random)] : [toolTurn(source), talk(random)]);
  const calls = Array.from({ length: random.between(1, 3) }, () => ({
    name: slugs.delegate,
    arguments: { task: source.childTask(childSteps()) },
  }));
  return turnOf(random, calls);
}

/** One or two failures before the good answer: fewer than the tries of a model. */
function faultsOf(random: Seeded): Fault[] {
  const one = (): Fault =>
    random.pick<Fault>([
      { kind: 'status', status: 429, headers: { 'retry-after': '1' } },
      { kind: 'status', status: 500 },
      { kind: 'status', status: 503 },
      { kind: 'reset', after: random.between(0, 6) },
      { kind: 'garbage', after: random.between(0, 6) },
      { kind: 'error_frame', after: random.between(0, 6) },
      { kind: 'no_finish', after: random.between(1, 6) },
      { kind: 'hang', after: random.between(0, 4) },
    ]);
  return Array.from({ length: random.between(1, 2) }, one);
}
