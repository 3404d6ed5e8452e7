import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { OperationScore, ScoreCard } from '../../src/emr/certification/report.ts';
import { code, page, table } from './markdown.ts';

/** A score card in `score-cards.json`, which `npm run scorecards` writes. */
export type PublishedCard = ScoreCard & { name: string; title: string; about: string; emr: string };

export async function readScoreCards(root: string): Promise<PublishedCard[]> {
  return JSON.parse(await readFile(join(root, 'docs/reference/score-cards.json'), 'utf8'));
}

/** One page per score card. */
export function scoreCardPages(cards: readonly PublishedCard[]): Record<string, string> {
  return Object.fromEntries(cards.map((card) => [`docs/reference/score-cards/${card.name}.md`, scoreCardPage(card)]));
}

/** Operation × server. */
export function serverMatrix(cards: readonly PublishedCard[]): string {
  const operations = [...new Set(cards.flatMap((card) => Object.keys(card.operations)))].sort();
  const heads = cards.map(({ name, title }) => `[${title}](score-cards/${name}.md)`);
  const rows = operations.map((name) => [code(name), ...cards.map(({ operations: scores }) => cell(scores[name]))]);
  return table(['Operation', ...heads], rows);
}

function scoreCardPage({ title, about, checks, operations }: PublishedCard): string {
  const rows = Object.entries(operations).map(([name, score]) => [code(name), cell(score)]);
  const { passed, failed, skipped } = checks;
  return page(`Score card: ${title}`, [
    about,
    `${passed} checks passed, ${failed} failed, ${skipped} skipped. Written by \`npm run scorecards\`.`,
    table(['Operation', 'Result'], rows),
  ]);
}

const words = { works: 'works', offered: 'supported', refused: 'refused', not_offered: '–', fails: 'fails' } as const;

function cell(score: OperationScore | undefined): string {
  if (!score) return '–';
  return score.text === undefined ? words[score.state] : `${words[score.state]}: ${score.text}`;
}
