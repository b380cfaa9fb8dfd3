/* desk.mjs -- a place to run a client in that is a program of its own, away from its user's files.
 *
 * It has the folders `home` for what the client keeps, `work` to work in, and `tmp`. Between client
 * and gateway stands a tap, which is its web proxy, too: what goes anywhere but to the gateway is
 * refused and kept in `outside`. All of it is gone after the test.
 */
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { patience } from '../lib/patience.mjs';
import { startTap } from '../lib/tap.mjs';

const PATIENCE_MS = 120_000; /* they take seconds, on a machine that has nothing else to do */

export class Desk {
    constructor(t, daemon) {
        this.root = mkdtempSync(join(tmpdir(), 'antiphon-client-'));
        for (const folder of ['home', 'work', 'tmp'])
            mkdirSync(join(this.root, folder));
        t.after(() => rmSync(this.root, { recursive: true, force: true }));
        this.home = join(this.root, 'home');
        this.tap = startTap(daemon.origin);
        t.after(async () => (await this.tap).close());
    }

    path(name) {
        return join(this.root, 'work', name);
    }

    write(name, text) {
        writeFileSync(this.path(name), text);
    }

    read(name) {
        return readFileSync(this.path(name), 'utf8');
    }

    /* A file of the client's own, such as its configuration. Returns where it is. */
    keep(name, value) {
        const path = join(this.home, name);
        mkdirSync(dirname(path), { recursive: true });
        writeFileSync(path, typeof value === 'string' ? value : JSON.stringify(value));
        return path;
    }

    /* The client to its end: { status, log, events, exchanges, sockets, outside }, where `events` are the
     * lines of JSON that it wrote. */
    async run(program, args, env) {
        const tap = await this.tap;
        const { status, out, log } = await runProgram(program, args, {
            cwd: join(this.root, 'work'),
            env: {
                PATH: process.env.PATH,
                HOME: this.home,
                TMPDIR: join(this.root, 'tmp'), /* Codex wants no home below this */
                HTTP_PROXY: tap.origin,
                HTTPS_PROXY: tap.origin,
                ALL_PROXY: tap.origin,
                NO_PROXY: '127.0.0.1',
                ...env,
            },
        });
        const events = out.split('\n').filter((line) => line.startsWith('{')).map((line) => JSON.parse(line));
        return { status, log: log + out, events, exchanges: tap.exchanges, sockets: tap.sockets, outside: tap.outside };
    }
}

/* In a process group of its own, so that nothing it started stays behind. */
function runProgram(program, args, options) {
    const child = spawn(program, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
    const got = { out: '', log: '' };
    child.stdout.setEncoding('utf8').on('data', (text) => (got.out += text));
    child.stderr.setEncoding('utf8').on('data', (text) => (got.log += text));
    const end = () => {
        try {
            process.kill(-child.pid, 'SIGKILL');
        } catch {
            /* all gone already */
        }
    };
    const late = setTimeout(end, patience(PATIENCE_MS));
    return new Promise((done, fail) => {
        child.on('error', fail);
        child.on('exit', () => end());
        child.on('close', (code, signal) => {
            clearTimeout(late);
            done({ status: code ?? signal, ...got });
        });
    });
}
