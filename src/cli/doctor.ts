export async function doctorCommand(_env: unknown, _options: unknown): Promise<void> {}
