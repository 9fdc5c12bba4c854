import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { parseAllDocuments } from 'yaml';
import { pythonPackages } from '../support/python-packages.ts';

const root = join(import.meta.dirname, '../..');
const folder = join(root, 'deploy/kubernetes');
/** The published schemas, as the package `kubernetes-validate` of PyPI has them. */
const schemas = join(
  pythonPackages({ requirements: 'kubernetes.requirements.txt', folder: 'kubernetes-validate-1.37.0' }),
  'kubernetes_validate/kubernetes-json-schema',
);
const versions = ['v1.31.0', 'v1.37.0'];

interface Container {
  readonly image: string;
  readonly command: readonly string[];
  readonly env?: readonly { readonly name: string }[];
  readonly envFrom: readonly { readonly configMapRef?: { readonly name: string }; readonly secretRef?: { readonly name: string } }[];
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[];
  readonly securityContext: unknown;
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
  readonly [probe: `${string}Probe`]: { readonly httpGet: { readonly path: string; readonly port: string } };
}

interface Pod {
  readonly metadata: { readonly labels: Readonly<Record<string, string>> };
  readonly spec: {
    readonly terminationGracePeriodSeconds?: number;
    readonly automountServiceAccountToken: boolean;
    readonly securityContext: unknown;
    readonly containers: readonly Container[];
    readonly volumes: readonly { readonly name: string; readonly persistentVolumeClaim?: { readonly claimName: string } }[];
  };
}

interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly data?: Readonly<Record<string, string>>;
  readonly spec?: {
    readonly template?: Pod;
    readonly selector?: unknown;
    readonly ports?: readonly { readonly targetPort: string }[];
    readonly podSelector?: unknown;
  };
}

const manifests = readdirSync(folder)
  .filter((file) => file.endsWith('.yaml'))
  .flatMap((file) =>
    parseAllDocuments(readFileSync(join(folder, file), 'utf8')).map((document) => ({ file, manifest: document.toJS() as Manifest })),
  );
const pods = manifests.flatMap(({ manifest }) =>
  manifest.spec?.template ? [{ name: manifest.metadata.name, pod: manifest.spec.template, selector: manifest.spec.selector }] : [],
);
const settings = manifests.find(({ manifest }) => manifest.kind === 'ConfigMap')?.manifest.data ?? {};
const documented = new Set(
  [...readFileSync(join(root, 'docs/operations.md'), 'utf8').matchAll(/`([A-Z][A-Z0-9_]+)`/g)].map(([, name]) => name),
);

const validators = new Map(versions.map((version) => [version, ajvOf(version)]));

/** The strict schemas, which know no further field. */
function ajvOf(version: string): Ajv2020 {
  const ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: false });
  return ajv.addSchema(JSON.parse(readFileSync(join(schemas, `${version}-local-strict`, '_definitions.json'), 'utf8')));
}

function validatorOf(version: string, { apiVersion, kind }: Manifest): ValidateFunction {
  const group = apiVersion.replace('.k8s.io', '').replace('/', '.');
  const name = `io.k8s.api.${group === 'v1' ? 'core.v1' : group}.${kind}`;
  const validate = validators.get(version)?.getSchema(`https://kubernetes.io/api/_definitions.json#/$defs/${name}`);
  if (!validate) throw new Error(`Kubernetes ${version} has no ${name}`);
  return validate;
}

test.each(versions)('each manifest is valid against the published schema of Kubernetes %s, which knows no further field', (version) => {
  expect(manifests.length).toBeGreaterThan(8);
  for (const { file, manifest } of manifests) {
    const validate = validatorOf(version, manifest);
    validate(manifest);
    expect([file, manifest.kind, validate.errors]).toEqual([file, manifest.kind, null]);
  }
});

test('a manifest with a wrong field or type is refused', () => {
  const [{ manifest } = { manifest: null }] = manifests.filter((one) => one.manifest.kind === 'Deployment');
  if (manifest === null) throw new Error('there is no Deployment');
  const validate = validatorOf('v1.37.0', manifest);

  expect(validate({ ...manifest, spec: { ...manifest.spec, replicas: 'two' } })).toBe(false);
  expect(validate({ ...manifest, spec: { ...manifest.spec, replica: 2 } })).toBe(false);
});

test('every setting in a manifest is documented, and no secret is in one', () => {
  const named = [
    ...Object.keys(settings),
    ...pods.flatMap(({ pod }) => pod.spec.containers.flatMap(({ env = [] }) => env.map(({ name }) => name))),
  ];

  expect(named.filter((name) => !documented.has(name))).toEqual([]);
  expect(Object.keys(settings).filter((name) => /KEY|TOKEN|SECRET|PASSWORD|DATABASE|REDIS|SMTP/.test(name))).toEqual([]);
  expect(manifests.filter(({ manifest }) => manifest.kind === 'Secret')).toEqual([]);
});

test('every pod runs an entry that exists, with the same image, the settings and the keys, and is selected by its labels', () => {
  expect(pods.map(({ name }) => name).toSorted()).toEqual([
    'longhaul-api',
    'longhaul-migrate',
    'longhaul-worker-bulk',
    'longhaul-worker-runs',
  ]);
  expect(new Set(pods.flatMap(({ pod }) => pod.spec.containers.map(({ image }) => image))).size).toBe(1);
  for (const { name, pod, selector } of pods) {
    for (const { command, envFrom } of pod.spec.containers) {
      expect(readFileSync(join(root, command.find((word) => word.includes('/')) ?? ''), 'utf8')).not.toBe('');
      expect(envFrom).toEqual(
        expect.arrayContaining([{ configMapRef: { name: 'longhaul-settings' } }, { secretRef: { name: 'longhaul' } }]),
      );
    }
    expect(pod.metadata.labels).toEqual({ 'app.kubernetes.io/part-of': 'longhaul', 'app.kubernetes.io/name': name });
    if (selector) expect(selector).toEqual({ matchLabels: { 'app.kubernetes.io/name': name } });
  }
});

test('no pod may more than it has to: no root, no capability, no writable file system but its volumes, no token', () => {
  for (const { pod } of pods) {
    expect(pod.spec.automountServiceAccountToken).toBe(false);
    expect(pod.spec.securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } });
    const volumes = pod.spec.volumes.map(({ name }) => name);
    for (const { securityContext, volumeMounts } of pod.spec.containers) {
      expect(securityContext).toEqual({ allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } });
      expect(volumeMounts.map(({ name }) => name).filter((name) => !volumes.includes(name))).toEqual([]);
      expect(volumeMounts.map(({ mountPath }) => mountPath)).toEqual(expect.arrayContaining(['/app/.longhaul', '/tmp']));
    }
  }
});

test('probes ask for paths that the processes answer, on ports that they name', () => {
  const served = new Map([
    ['startupProbe', '/health/startup'],
    ['readinessProbe', '/health/ready'],
    ['livenessProbe', '/health/live'],
  ]);
  for (const { name, pod } of pods.filter((one) => one.name !== 'longhaul-migrate')) {
    const [container] = pod.spec.containers;
    for (const [probe, path] of served) {
      const asked = container?.[probe as 'startupProbe']?.httpGet;
      expect([name, probe, asked?.path]).toEqual([name, probe, path]);
      expect(container?.ports?.map((port) => port.name)).toContain(asked?.port);
    }
  }
  const service = manifests.find(({ manifest }) => manifest.kind === 'Service');
  expect(service?.manifest.spec?.ports?.map(({ targetPort }) => targetPort)).toEqual(['http']);
});

test('grace periods cover what a process takes to end: those of docker-compose.yml', () => {
  const compose = readFileSync(join(root, 'docker-compose.yml'), 'utf8');
  const graceOf = (service: string) =>
    Number(new RegExp(`^  ${service}:\\n(?: {4}.*\\n)*? {4}stop_grace_period: (\\d+)s`, 'm').exec(compose)?.[1]);
  const own = new Map(pods.map(({ name, pod }) => [name, pod.spec.terminationGracePeriodSeconds ?? 0]));

  for (const service of ['api', 'worker-runs', 'worker-bulk'])
    expect(own.get(`longhaul-${service}`)).toBeGreaterThanOrEqual(graceOf(service));
});

test('claims that pods mount exist, and network policies select pods that exist', () => {
  const claims = manifests
    .filter(({ manifest }) => manifest.kind === 'PersistentVolumeClaim')
    .map(({ manifest }) => manifest.metadata.name);
  const mounted = pods.flatMap(({ pod }) =>
    pod.spec.volumes.flatMap(({ persistentVolumeClaim: claim }) => (claim ? [claim.claimName] : [])),
  );
  const selected = JSON.stringify(
    manifests.filter(({ manifest }) => manifest.kind === 'NetworkPolicy').map(({ manifest }) => manifest.spec?.podSelector),
  );

  expect(mounted).toEqual(claims);
  expect(
    [...selected.matchAll(/longhaul-[a-z-]+/g)].map(([name]) => name).filter((name) => !pods.some((pod) => pod.name === name)),
  ).toEqual([]);
});
