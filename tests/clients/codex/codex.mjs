/* codex.mjs -- the Codex CLI as its users run it, away from their files.
 *
 * Every run has a folder of its own: `home` with the configuration, `work` to
 * work in. Between Codex and the gateway stands a tap, which is its web proxy,
 * too: what goes anywhere but to the gateway is refused and kept in `outside`.
 */
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startTap } from '../../lib/tap.mjs';

const CODEX = fileURLToPath(new URL('node_modules/.bin/codex', import.meta.url));
const PATIENCE_MS = 60_000;

/* All that Codex does on its own is off. Retries are left as they come. */
const configuration = (base, { model, provider = 'Antiphon', auth }) => `
model = "${model}"
model_provider = "antiphon"
check_for_update_on_startup = false

[analytics]
enabled = false

[features]
apps = false
plugins = false
remote_plugin = false

[model_providers.antiphon]
name = "${provider}"
base_url = "${base}/v1"
wire_api = "responses"
requires_openai_auth = ${auth !== undefined}
`;

/* A place to run Codex in, gone after the test. */
export class Desk {
    constructor(t, daemon, options = {}) {
        this.root = mkdtempSync(join(tmpdir(), 'antiphon-codex-'));
        for (const folder of ['home', 'work', 'tmp'])
            mkdirSync(join(this.root, folder));
        t.after(() => rmSync(this.root, { recursive: true, force: true }));
        this.options = { model: 'test-model', ...options };
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

    /* `codex exec` to its end: { status, log, events, exchanges, outside }. */
    async exec(...args) {
        const tap = await this.tap;
        const home = join(this.root, 'home');
        writeFileSync(join(home, 'config.toml'), configuration(tap.origin, this.options));
        if (this.options.auth)
            writeFileSync(join(home, 'auth.json'), JSON.stringify(this.options.auth));
        const { status, out, log } = await run(['exec', '--json', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox', ...args], {
            cwd: join(this.root, 'work'),
            env: {
                PATH: process.env.PATH,
                HOME: home,
                CODEX_HOME: home,
                TMPDIR: join(this.root, 'tmp'), /* its home must not lie below this */
                HTTP_PROXY: tap.origin,
                HTTPS_PROXY: tap.origin,
                ALL_PROXY: tap.origin,
                NO_PROXY: '127.0.0.1',
            },
        });
        const events = out.split('\n').filter((line) => line.startsWith('{')).map((line) => JSON.parse(line));
        return { status, log: log + out, events, exchanges: tap.exchanges, outside: tap.outside };
    }
}

/* In a process group of its own, so that nothing it started stays behind. */
function run(args, options) {
    const child = spawn(CODEX, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
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
    const late = setTimeout(end, PATIENCE_MS);
    return new Promise((done, fail) => {
        child.on('error', fail);
        child.on('exit', () => end());
        child.on('close', (code, signal) => {
            clearTimeout(late);
            done({ status: code ?? signal, ...got });
        });
    });
}

/* What Codex reports as done, by kind: agent_message, command_execution ... */
export const itemsOf = (events, type) =>
    events.filter((event) => event.type === 'item.completed' && event.item.type === type).map((event) => event.item);
