import type { OperationName } from '../connector.ts';
import type { Interaction } from './capabilities.ts';

/** What a server must be able to do for an operation to be offered. */
export type Need = { type: string; interactions: readonly Interaction[]; params?: readonly string[] };

export const needs: Partial<Record<OperationName, readonly Need[]>> = {};
