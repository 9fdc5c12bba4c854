import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode, DefaultLogger, type BundleOptions } from '@temporalio/worker';
import { buildOnce, dist, replaceFile, root } from './build-once.ts';

const workflows = join(root, 'workflows');
const bundlePath = join(dist, 'workflow-bundle.js');

/**
 * Returns the path of the workflow bundle; rebuilds it only when its sources, the SDK or this builder have changed (`buildOnce`). The bytes depend on the
 * sources alone.
 */
export async function ensureBundle(): Promise<string> {
  await buildOnce({
    name: 'workflow-bundle',
    outputs: [bundlePath],
    sources: [workflows, fileURLToPath(import.meta.url), join(root, 'node_modules', '@temporalio', 'worker', 'package.json')],
    build,
  });
  return bundlePath;
}

async function build(): Promise<void> {
  const { code } = await bundleWorkflowCode({
    workflowsPath: join(workflows, 'index.ts'),
    workflowInterceptorModules: [join(workflows, 'shared', 'tenant-header.ts')],
    logger: new DefaultLogger('WARN'),
    webpackConfigHook: withoutPlace,
  });

  await replaceFile(bundlePath, code);
}

/** Keeps the folder of this clone out of the bytes: module names are relative to it, and the source map holds lines but no sources. */
const withoutPlace: BundleOptions['webpackConfigHook'] = (config) => ({
  ...config,
  context: root,
  devtool: 'inline-nosources-cheap-module-source-map',
  output: { ...config.output, filename: 'workflow-bundle.js', pathinfo: false, devtoolModuleFilenameTemplate: nameWithoutPlace },
});

function nameWithoutPlace({ resourcePath }: { readonly resourcePath: string }): string {
  return resourcePath.replaceAll(root, '');
}

if (import.meta.main) await ensureBundle();
