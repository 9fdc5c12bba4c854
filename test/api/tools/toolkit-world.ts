import type { TestTenant } from '../../support/tenant.ts';
import type { Answer, World } from '../world.ts';

/** A tool by hand; `more` replaces fields. */
export const manualTool = (name: string, more: Readonly<Record<string, unknown>> = {}) => ({
  name,
  description: `Does ${name}`,
  config: { method: 'GET', url: `https://api.example.com/${name}` },
  ...more,
});

/** Makes toolkits, revisions and activations as the tenant's admin. */
export function toolkitMaker(world: World, { tokens }: TestTenant) {
  const post = (path: string, body: unknown): Promise<Answer> => world.call(tokens.admin, 'POST', path, { body });
  const get = (path: string): Promise<Answer> => world.call(tokens.viewer, 'GET', path);
  return {
    post,
    get,
    async toolkit(more: Readonly<Record<string, unknown>> = {}) {
      return (await post('/toolkits', { slug: 'kit', name: 'Kit', kind: 'manual', config: {}, ...more })).body;
    },
    async revision(toolkitId: string, tools: readonly unknown[]) {
      return (await post(`/toolkits/${toolkitId}/revisions`, { source: { type: 'manual', tools } })).body;
    },
    activate: (toolkitId: string, revisionId: string, body: unknown = { approve: 'all' }) =>
      post(`/toolkits/${toolkitId}/revisions/${revisionId}/activate`, body),
    async tools(toolkitId: string): Promise<Answer['body'][]> {
      const { items } = (await get(`/tools?toolkit_id=${toolkitId}`)).body;
      return items.toSorted((left: { slug: string }, right: { slug: string }) => (left.slug < right.slug ? -1 : 1));
    },
  };
}
