/** Where a run of the tests has its files. */
import { existsSync, statfsSync } from 'node:fs';
import { freemem, tmpdir } from 'node:os';

const memory_folder = '/dev/shm';
/** The databases of six workers and their write-ahead log take about a gigabyte. */
const free_min = 4 * 2 ** 30;

/**
 * The folder for the databases: in memory if there is enough of it, because every test file creates and deletes a
 * thousand small files with them, which took a twentieth of the run's CPU time on ext4.
 */
export function databasesRoot() {
  if (!existsSync(memory_folder) || freemem() < 2 * free_min) return tmpdir();
  const { bavail, bsize } = statfsSync(memory_folder);
  return bavail * bsize < free_min ? tmpdir() : memory_folder;
}
