/* with_postgres.mjs -- what tests/lib/with-postgres does. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:os';
import { startPostgres } from './postgres.mjs';

const [command, ...args] = process.argv.slice(2);

const server = await startPostgres();
const env = { ...process.env, ANTIPHON_TEST_POSTGRES: await server.database() };
const child = spawn(command, args, { stdio: 'inherit', env });
const [status, signal] = await once(child, 'close');
await server.close();
process.exitCode = status ?? 128 + constants.signals[signal];
