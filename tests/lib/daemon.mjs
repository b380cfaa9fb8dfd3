/* daemon.mjs -- the gateway under test: start it, watch it, stop it.
 *
 * The binary is $ANTIPHON_BIN, or build/antiphon. Every daemon binds a free
 * port, which it tells in its "listening" line. stop() fails when it did not
 * end cleanly or when a sanitizer had something to say, so a test that forgets
 * to look still notices a crash.
 */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { folder } from './folder.mjs';
import { patience } from './patience.mjs';
import { startUpstream } from './upstream.mjs';

export const ROOT = resolve(fileURLToPath(import.meta.url), '../../..');
export const BINARY = resolve(ROOT, process.env.ANTIPHON_BIN ?? 'build/antiphon');

const COMPLAINT = /(Address|Thread|Memory|Leak|UndefinedBehavior)Sanitizer|runtime error:|Assertion .* failed/;
const LISTENING = /listening.*?address"?[=:]\s*"?(?:unix:|([0-9.]+):(\d+))/;
const running = new Set();

/* The gateway reads variables of its own and of others: only ours may reach it. */
const KEPT = /^(PATH|HOME|TMPDIR|LD_.*|.*SAN_OPTIONS)$/;
export const ENVIRONMENT = Object.fromEntries(Object.entries(process.env).filter(([name]) => KEPT.test(name)));

/* What a daemon stores goes with it, unless the test says where to keep it; and it tries no sandbox,
 * which takes a moment, unless the test is about code. */
const USUAL = { ANTIPHON_STORE: 'memory', ANTIPHON_CODE_INTERPRETER: 'off' };
if (process.getuid() !== 0)
    USUAL.ANTIPHON_CORE_DUMPS = 'true'; /* else /proc/PID is not ours to look into */

process.on('exit', () => {
    for (const child of running)
        child.kill('SIGKILL');
});

class Daemon {
    log = '';

    constructor(args, env, user) {
        if (!existsSync(BINARY))
            throw new Error(`no gateway at ${BINARY}: build it or set ANTIPHON_BIN`);
        this.child = spawn(BINARY, ['serve', ...args], {
            stdio: ['ignore', 'pipe', 'pipe'],
            env: { ...ENVIRONMENT, ...USUAL, ...env },
            ...user,
        });
        running.add(this.child);
        for (const output of [this.child.stdout, this.child.stderr])
            output.setEncoding('utf8').on('data', (text) => (this.log += text));
        this.exited = new Promise((done) => {
            this.child.on('close', (code, signal) => {
                running.delete(this.child);
                done({ code, signal });
            });
        });
    }

    /* The first match in the log, once it is there. */
    async logged(pattern, ms = 5000) {
        for (const deadline = performance.now() + patience(ms); ;) {
            const match = this.log.match(pattern);
            if (match)
                return match;
            if (this.child.exitCode !== null || performance.now() > deadline)
                throw new Error(`daemon never logged ${pattern}:\n${this.log}`);
            await new Promise((done) => setTimeout(done, 5));
        }
    }

    async ready() {
        const [, host, port] = await this.logged(LISTENING, 20_000);
        Object.assign(this, { host, port: Number(port), origin: `http://${host}:${port}` });
        return this;
    }

    /* Ends it as an administrator would and insists on a clean end. */
    async stop({ ms = 10_000 } = {}) {
        this.child.kill('SIGTERM');
        const late = setTimeout(() => this.child.kill('SIGKILL'), patience(ms));
        const { code, signal } = await this.exited;
        clearTimeout(late);
        if (code !== 0 || COMPLAINT.test(this.log))
            throw new Error(`daemon ended with ${signal ?? `status ${code}`}:\n${this.log.slice(-8000)}`);
    }
}

/* A daemon that is not ready yet. `exact` leaves out --listen, for tests that give it in another
 * way; user: { uid, gid }. */
export function launchDaemon({ upstream, args = [], env = {}, exact = false, user = {} } = {}) {
    const all = [...args];
    if (!exact)
        all.unshift('--listen', '127.0.0.1:0');
    if (upstream !== undefined)
        all.push('--upstream', upstream);
    return new Daemon(all, env, user);
}

export async function startDaemon(how) {
    const daemon = launchDaemon(how);
    try {
        return await daemon.ready();
    } catch (error) {
        daemon.child.kill('SIGKILL');
        throw error;
    }
}

/* A scripted upstream and a daemon in front of it, both gone after the test. */
export async function pair(t, ...args) {
    const up = await startUpstream();
    t.after(() => up.close());
    const daemon = await startDaemon({ upstream: up.url, args: ['--model', 'test-model', ...args] });
    t.after(() => daemon.stop());
    return { up, daemon };
}

/* Gives a daemon, and each time another one that continues what the last has kept. */
export function successors(t, up, ...args) {
    const kept = ['--store', `sqlite:${folder(t, 'antiphon.db')}`];
    const env = { ANTIPHON_ENCRYPTION_KEYS: 'a-key-that-outlives-the-daemon-01' };
    let last;
    t.after(() => last?.stop());
    return async () => {
        await last?.stop();
        return (last = await startDaemon({ upstream: up.url, args: ['--model', 'test-model', ...kept, ...args], env }));
    };
}

/* The same for all tests of a file; hooks are those of node:test. */
export function shared({ before, beforeEach, after }, ...args) {
    const both = {};
    before(async () => {
        both.up = await startUpstream();
        both.daemon = await startDaemon({ upstream: both.up.url, args: ['--model', 'test-model', ...args] });
    });
    beforeEach?.(() => both.up.reset());
    after(async () => {
        await both.daemon?.stop();
    });
    after(() => both.up.close());
    return both;
}
