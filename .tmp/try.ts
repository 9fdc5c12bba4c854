import { plantedPulls } from '../bench/code-review/planted.ts';
import { playPull } from '../bench/code-review/play.ts';
import { answerByScript } from '../bench/code-review/scripted-answers.ts';
for (const p of plantedPulls) {
  const r = await playPull(p, answerByScript);
  if (r.isAddressed === false) console.log(p.id, p.title, JSON.stringify(r.conclusion.findings.map((f) => [f.title, f.side, f.evidence])));
}
