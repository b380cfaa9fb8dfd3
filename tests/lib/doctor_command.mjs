/* doctor_command.mjs -- `antiphon doctor`, and other commands that ask servers of this process. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { BINARY, ENVIRONMENT } from './daemon.mjs';
import { patience } from './patience.mjs';

/* { status, stdout, stderr } */
export async function command(t, args, env = {}, options = {}) {
    const child = spawn(BINARY, args, { env: { ...ENVIRONMENT, ...env }, stdio: ['ignore', 'pipe', 'pipe'], timeout: patience(60_000), killSignal: 'SIGKILL', ...options });
    t.after(() => child.kill('SIGKILL'));
    const said = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr'])
        child[name].setEncoding('utf8').on('data', (piece) => (said[name] += piece));
    const [status] = await once(child, 'close');
    return { status, ...said };
}

export const doctor = (t, args, env, options) => command(t, ['doctor', ...args], env, options);
