import { installationOf } from './auth.ts';
import { redeliver } from './hooks.ts';
import { pageOf } from './pages.ts';
import type { AppHandler } from './rest.ts';
import type { FakeDelivery, FakeRepository, FakeToken } from './state.ts';
import { appView, installationView, repositoryView } from './views.ts';

function deliveryView(delivery: FakeDelivery): Record<string, unknown> {
  const { id, guid, event, action, deliveredAt, isRedelivery, statusCode, installationId, repositoryId } = delivery;
  const isOk = statusCode >= 200 && statusCode < 300;
  return {
    id,
    guid,
    event,
    action,
    delivered_at: deliveredAt.toISOString(),
    redelivery: isRedelivery,
    duration: 0.1,
    status: isOk ? 'OK' : `Invalid HTTP Response: ${statusCode}`,
    status_code: statusCode,
    installation_id: installationId,
    repository_id: repositoryId,
  };
}

const handlers: Readonly<Record<string, AppHandler>> = {
  'GET /app': ({ app }) => ({ data: appView(app) }),
  'GET /app/installations/{installation_id}': ({ state, app, params }) => ({
    data: installationView(installationOf(state, app, Number(params['installation_id'])), app),
  }),
  'GET /app/hook/deliveries': ({ app, query }) => {
    const cursor = Number(query.get('cursor')?.replace('v1_', '') ?? Number.POSITIVE_INFINITY);
    const older = app.deliveries.filter(({ id }) => id < cursor).toReversed();
    const page = pageOf(older, query);
    const last = page.at(-1);
    const next = `<https://api.github.test/app/hook/deliveries?per_page=${page.length}&cursor=v1_${last?.id}>; rel="next"`;
    return { data: page.map(deliveryView), ...(older.length > page.length ? { headers: { link: next } } : {}) };
  },
  'POST /app/hook/deliveries/{delivery_id}/attempts': async ({ state, app, params }) => {
    await redeliver(state, app, Number(params['delivery_id']));
    return { status: 202, data: {} };
  },
};

/** What a new token looks like. */
function tokenView({ token, permissions, expiresAtMs }: FakeToken, repositories: readonly FakeRepository[]): Record<string, unknown> {
  const shown = repositories.map((repository) => repositoryView(repository));
  const expiresAt = new Date(Math.floor(expiresAtMs / 1_000) * 1_000).toISOString();
  return { token, expires_at: expiresAt, permissions, repository_selection: 'selected', repositories: shown };
}

export const appRoutes = Object.assign({ tokenView }, handlers) as typeof handlers & { readonly tokenView: typeof tokenView };
