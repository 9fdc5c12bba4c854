export default async function globalTeardown() {
  const { tearDown } = await import('./services.ts');
  await tearDown();
}
