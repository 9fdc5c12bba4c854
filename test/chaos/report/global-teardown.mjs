export default async function globalTeardown() {
  const { tearDown } = await import('../../support/services.ts');
  await tearDown();
  const { seedsOfMatrix, readResults } = await import('./results.ts');
  const { printFreezes, writeReliability } = await import('./reliability.ts');
  printFreezes();
  // A table of a part would look like one of the whole.
  if (readResults('random').length < seedsOfMatrix) return;
  writeReliability();
}
