/* runner.mjs -- runner.py as a process of its own, spoken to as the gateway does (see
 * src/sandbox/PROTOCOL.md), without a sandbox around it. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { folder } from './folder.mjs';
import { patience } from './patience.mjs';

const PYTHON = process.env.ANTIPHON_TEST_PYTHON ?? 'python3';
const SCRIPT = new URL('../../src/sandbox/runner.py', import.meta.url).pathname;
const LIMITS = { memory_bytes: 0, processes: 0, file_bytes: 1 << 24, output_bytes: 4096, image_bytes: 65536, egress: null };

/* A runner whose work directory is `dir`, ended with the test. `ready` is its first line. */
export async function startRunner(t, limits = {}) {
    const dir = folder(t);
    const args = { ...LIMITS, work_directory: dir, ...limits };
    const child = spawn(PYTHON, ['-I', SCRIPT, JSON.stringify(args)], { cwd: '/' });
    const exited = once(child, 'close').then(([status]) => status);
    t.after(() => {
        child.stdin.end();
        return exited;
    });
    let stderr = '';
    child.stderr.on('data', (text) => (stderr += text));
    child.stdin.on('error', () => {}); /* it has ended, which `ended` tells */
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    let lastId = 0;

    const send = (message) => child.stdin.write(`${JSON.stringify(message)}\n`);
    const next = async () => {
        const line = await within(lines.next(), 'an answer');
        return line.done ? null : JSON.parse(line.value);
    };
    /* Sends a request; answers come in the order of their ends. */
    const request = (op, more) => {
        send({ id: ++lastId, op, ...more });
        return lastId;
    };
    /* The answer to a request when no other is open. */
    const ask = async (op, more) => {
        const id = request(op, more);
        const answer = await next();
        if (answer?.id !== id)
            throw new Error(`answer to ${id}: ${JSON.stringify(answer)}\n${stderr}`);
        delete answer.id;
        return answer;
    };
    /* Waits until code that runs, or a thread it left, has made the file. */
    const fileExists = async (path) => {
        const until = Date.now() + patience(20_000);
        while (!(await ask('files')).files.some((file) => file.path === path)) {
            if (Date.now() > until)
                throw new Error(`no file ${path}`);
            await pause(5);
        }
    };
    return {
        dir,
        pid: child.pid,
        send,
        next,
        request,
        ask,
        fileExists,
        run: (code) => ask('run', { code }),
        interrupt: () => send({ op: 'interrupt' }),
        read: (path, max_bytes = 1 << 20) => ask('read', { path, max_bytes }),
        closeInput: () => child.stdin.end(),
        /* Its status and what it wrote on standard error, when it has ended. */
        ended: async () => ({ status: await within(exited, 'the end'), stderr }),
        ready: await next(),
    };
}

/* The promise's value, unless that takes so long that it will never come. */
async function within(promise, what) {
    const timer = new AbortController();
    const late = pause(patience(30_000), null, { signal: timer.signal }).then(
        () => { throw new Error(`waited too long for ${what}`); },
        () => {},
    );
    try {
        return await Promise.race([promise, late]);
    } finally {
        timer.abort();
    }
}
