/** Waits for something, but no longer than this. */
export async function within(ms: number, something: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([something, timeout]);
  clearTimeout(timer);
}
