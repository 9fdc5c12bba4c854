import { pageOf } from './pages.ts';
import { invalid, notFound, Refusal } from './refusal.ts';
import { gitPasses } from './repositories.ts';
import type { RepositoryContext, RepositoryRoute } from './rest.ts';
import { maxBody } from './rest-pulls.ts';
import type { FakeCheck } from './state.ts';
import { checkView } from './views.ts';

type Json = Record<string, any>;

const maxAnnotations = 50;

export const checkRoutes: Readonly<Record<string, RepositoryRoute>> = {
  'GET /repos/{owner}/{repo}/commits/{ref}/check-runs': {
    needs: [['checks', 'read']],
    handle: ({ repository, params, query }) => {
      const name = query.get('check_name');
      const appId = query.get('app_id');
      const found = repository.checks.filter(
        (check) =>
          check.headSha === params['ref'] && (name === null || check.name === name) && (appId === null || String(check.app.id) === appId),
      );
      // The latest of a name, unless all are asked for.
      const shown =
        query.get('filter') === 'all'
          ? found
          : found.filter((check, at) => !found.slice(at + 1).some((later) => later.name === check.name));
      return { data: { total_count: shown.length, check_runs: pageOf(shown, query).map(checkView) } };
    },
  },
  'POST /repos/{owner}/{repo}/check-runs': {
    needs: [['checks', 'write']],
    handle: ({ state, app, repository, body }) => {
      if (!gitPasses(repository.folder, 'cat-file', '-e', `${body['head_sha']}^{commit}`)) throw invalid('No commit found for SHA');
      const check: FakeCheck = {
        id: state.nextId(),
        app,
        headSha: body['head_sha'],
        name: body['name'],
        externalId: '',
        status: 'queued',
        conclusion: null,
        title: null,
        summary: null,
        annotations: [],
        actions: [],
      };
      change(check, body);
      repository.checks.push(check);
      return { status: 201, data: checkView(check) };
    },
  },
  'PATCH /repos/{owner}/{repo}/check-runs/{check_run_id}': { needs: [['checks', 'write']], handle: updateCheck },
};

function updateCheck({ app, repository, params, body }: RepositoryContext) {
  const check = repository.checks.find(({ id }) => id === Number(params['check_run_id']));
  if (!check) throw notFound();
  if (check.app !== app) throw new Refusal(403, 'Resource not accessible by integration');
  change(check, body);
  return { data: checkView(check) };
}

function change(check: FakeCheck, body: Json): void {
  const output: Json | undefined = body['output'];
  const annotations: Json[] = output?.['annotations'] ?? [];
  if (annotations.length > maxAnnotations) throw invalid('Invalid request. No more than 50 items are allowed; annotations.');
  if ((output?.['summary'] ?? '').length > maxBody - 1) throw invalid('Validation Failed', [{ field: 'summary', code: 'too_long' }]);
  if (output !== undefined && output['title'] === undefined) throw invalid('Invalid request. "title" wasn\'t supplied.');
  const actions: Json[] = body['actions'] ?? check.actions;
  if (actions.length > 3) throw invalid('No more than 3 actions are allowed');
  for (const { label, description, identifier } of actions)
    if (label.length > 20 || description.length > 40 || identifier.length > 20) throw invalid('an action is too long');
  check.name = body['name'] ?? check.name;
  check.externalId = body['external_id'] ?? check.externalId;
  check.conclusion = body['conclusion'] ?? check.conclusion;
  check.status = body['conclusion'] === undefined ? (body['status'] ?? check.status) : 'completed';
  if (check.status === 'completed' && check.conclusion === null) throw invalid('Invalid request. "conclusion" wasn\'t supplied.');
  check.title = output?.['title'] ?? check.title;
  check.summary = output?.['summary'] ?? check.summary;
  check.annotations.push(...annotations);
  check.actions = actions;
}
