import { Type } from 'typebox';
import type { Page } from '../machine/recordKind.ts';

const PAGE_SIZE_MAX = 500;
const PAGE_SIZE_DEFAULT = 200;

const whole = Type.Optional(Type.String({ pattern: '^[1-9][0-9]{0,6}$' }));
export const paging = { page: whole, pageSize: whole };

export function pageOf({ page, pageSize }: { page?: string; pageSize?: string }): Page {
  return { page: Number(page ?? 1), pageSize: Math.min(Number(pageSize ?? PAGE_SIZE_DEFAULT), PAGE_SIZE_MAX) };
}
