import type { CheckedRepository } from '../repository.ts';

export type PracticeSize = 'practice' | 'small' | 'none';

export async function layPractice(_repo: CheckedRepository, _size: PracticeSize): Promise<void> {}
