/* admin_command.test.mjs -- `antiphon upstreams` and `antiphon keys` beside a gateway that runs. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import test, { describe } from 'node:test';
import { ask, get } from '../lib/client.mjs';
import { BINARY, ENVIRONMENT, startDaemon } from '../lib/daemon.mjs';
import { command as run } from '../lib/doctor_command.mjs';
import { folder } from '../lib/folder.mjs';
import { freePort } from '../lib/free_port.mjs';
import { startUpstream } from '../lib/upstream.mjs';
import { until } from '../lib/upstreams.mjs';

const OWNER = 'sk-of-the-owner-1', OPERATOR = 'sk-of-the-operator-1';

const line = (name, key, settings = '') =>
    spawnSync(BINARY, ['key', 'hash', name], { encoding: 'utf8', input: `${key}\n`, env: ENVIRONMENT }).stdout.trim() + settings;

function fileOf(t, name, text) {
    const path = folder(t, name);
    writeFileSync(path, text, { mode: 0o600 });
    return path;
}

const keysFile = (t) => fileOf(t, 'keys', `${[line('owner', OWNER), line('operator', OPERATOR, ' admin')].join('\n')}\n`);

/* A gateway in front of the upstreams `near` and `far`, of which nobody is at `far`; `flags` is its configuration, by
 * which a command finds it. */
async function startTwo(t, { address = '127.0.0.1', args = [] } = {}) {
    const up = await startUpstream();
    t.after(() => up.close());
    const gone = `http://127.0.0.1:${await freePort()}/v1`;
    const file = fileOf(t, 'upstreams.json', JSON.stringify({ upstreams: {
        near: { url: up.url, models: ['m'], max_concurrency: 4 }, far: { url: gone, models: ['gone'] } } }));
    const port = await freePort(), api = await freePort();
    const flags = ['--listen', `127.0.0.1:${api},${address}:${port}+admin`, '--upstreams-file', file, ...args];
    const daemon = await startDaemon({ exact: true, args: flags });
    t.after(() => daemon.stop());
    return { up, gone, flags, admin: { origin: `http://127.0.0.1:${port}` }, api: { origin: `http://127.0.0.1:${api}` } };
}

/* The lines of a table as objects of its heads, each with the notes below it. */
function tableOf(text) {
    const [head, ...lines] = text.trimEnd().split('\n');
    const heads = head.split(/ {2,}/), starts = heads.map((name) => head.indexOf(name));
    const rows = [];
    for (const one of lines) {
        if (one.startsWith('  '))
            rows.at(-1).notes.push(one.trim());
        else
            rows.push({ notes: [], ...Object.fromEntries(heads.map((name, i) => [name, one.slice(starts[i], starts[i + 1]).trim()])) });
    }
    return Object.fromEntries(rows.map((row) => [row.NAME, row]));
}

describe('antiphon upstreams', () => {
    test('shows what each does, and what orders change', async (t) => {
        const { up, gone, flags, api, admin } = await startTwo(t);
        const upstreams = (...words) => run(t, ['upstreams', ...words, ...flags]);
        assert.equal((await ask(api, { model: 'm', input: 'Hi' })).status, 200);
        await ask(api, { model: 'gone', input: 'Hi' });
        const shown = await upstreams();
        assert.deepEqual([shown.status, shown.stderr], [0, '']);
        const { near, far } = tableOf(shown.stdout);
        assert.deepEqual([near.STATE, near['IN FLIGHT'], near.SERVED, near.FAILURES, near.URL, near.notes], ['up', '0/4', '1', '0', up.url, []]);
        assert.deepEqual([far['IN FLIGHT'], far.SERVED, far.URL], ['0', '0', gone]);
        assert.ok(Number(far.FAILURES) > 0);
        assert.match(far.notes[0], /^last error, \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC: .+/);

        const state = async () => tableOf((await upstreams()).stdout).near.STATE;
        assert.deepEqual(await upstreams('drain', 'near'), { status: 0, stdout: '', stderr: '' });
        assert.equal(await state(), 'drained');
        assert.equal((await get(admin, '/admin/upstreams')).json.data[0].state, 'drained');
        assert.deepEqual(await upstreams('drain', 'near'), { status: 0, stdout: '', stderr: '' }, 'once more changes nothing');
        assert.deepEqual(await upstreams('resume', 'near'), { status: 0, stdout: '', stderr: '' });
        assert.equal(await state(), 'up');
        assert.deepEqual(await upstreams('check', 'near'), { status: 0, stdout: '', stderr: '' });
        await until(state, (now) => now === 'up');
    });

    test('--json prints the answer as it is', async (t) => {
        const { flags, admin } = await startTwo(t);
        for (const words of [['--json', ...flags], [...flags, '--json']]) {
            const { status, stdout } = await run(t, ['upstreams', ...words]);
            assert.equal(status, 0);
            assert.deepEqual(JSON.parse(stdout).data.map(({ name }) => name), (await get(admin, '/admin/upstreams')).json.data.map(({ name }) => name));
        }
    });

    test('finds a socket, and an upstream that no file names', async (t) => {
        const socket = folder(t, 'admin.sock');
        const daemon = await startDaemon({ exact: true, args: ['--listen', `127.0.0.1:0,unix:${socket}+admin`] });
        t.after(() => daemon.stop());
        const { status, stdout } = await run(t, ['upstreams'], { ANTIPHON_LISTEN: `:${await freePort()}+admin,unix:${socket}+admin` });
        assert.deepEqual([status, Object.keys(tableOf(stdout))], [0, ['demo']]);
    });

    test('is 1 for an upstream that there is not', async (t) => {
        const { flags } = await startTwo(t);
        const { status, stdout, stderr } = await run(t, ['upstreams', 'drain', 'nobody', ...flags]);
        assert.deepEqual([status, stdout], [1, '']);
        assert.match(stderr, /^antiphon: 127\.0\.0\.1:\d+\+admin: There is no upstream 'nobody'\.\n$/);
    });
});

describe('antiphon keys', () => {
    test('shows whose keys there are, what they may and what is left', async (t) => {
        const file = fileOf(t, 'keys', `${line('alice', OWNER, ' models=m rpm=2 concurrency=2')}\n${line('alice', 'sk-of-alice-2', ' expires=2100-01-01')}\n${line('ops', OPERATOR, ' admin')}\n`);
        const { flags, admin, api } = await startTwo(t, { args: ['--api-keys-file', file] });
        assert.equal((await ask(api, { model: 'm', input: 'Hi' }, { headers: { authorization: `Bearer ${OWNER}` } })).status, 200);
        const { status, stdout, stderr } = await run(t, ['keys', ...flags]);
        assert.deepEqual([status, stderr], [0, '']);
        const { alice, ops } = tableOf(stdout);
        assert.deepEqual(alice, { notes: [], NAME: 'alice', KEYS: '2', ADMIN: '-', RUNNING: '0/2', 'REQUESTS LEFT': '1/2', 'TOKENS LEFT': '-', WEIGHT: '1', PRIORITY: 'normal', EXPIRES: '-', MODELS: 'm' });
        assert.deepEqual([ops.KEYS, ops.ADMIN, ops.RUNNING, ops.MODELS], ['1', 'yes', '-', 'all']);
        const json = await run(t, ['keys', '--json', ...flags]);
        assert.deepEqual(JSON.parse(json.stdout).data.map(({ name }) => name), (await get(admin, '/admin/keys')).json.data.map(({ name }) => name));
    });

    test('takes no orders, and has a help', async (t) => {
        const wrong = await run(t, ['keys', 'drain', 'alice', '--listen', ':1+admin']);
        assert.deepEqual([wrong.status, wrong.stdout], [2, '']);
        const { status, stdout } = await run(t, ['keys', '--help']);
        assert.deepEqual([status, stdout.includes('antiphon keys [--json] [flags]')], [0, true]);
    });
});

test('a listener for other machines is told the key of an operator, and which one is missing or wrong is said', async (t) => {
    const { flags } = await startTwo(t, { address: '0.0.0.0', args: ['--api-keys-file', keysFile(t)] });
    const upstreams = (key) => run(t, ['upstreams', ...flags], key && { ANTIPHON_ADMIN_KEY: key });
    const good = await upstreams(OPERATOR);
    assert.deepEqual([good.status, good.stderr], [0, '']);
    assert.ok(tableOf(good.stdout).near);
    for (const [key, status, message] of [
        [undefined, 1, /variable ANTIPHON_ADMIN_KEY/],
        ['sk-wrong-key-12345', 1, /variable ANTIPHON_ADMIN_KEY/],
        [OWNER, 1, /may not administer .* no 'admin'/],
        ['two words', 2, /ANTIPHON_ADMIN_KEY must hold a key/],
    ]) {
        const got = await upstreams(key);
        assert.deepEqual([got.status, got.stdout], [status, ''], got.stderr);
        assert.match(got.stderr, message);
        assert.ok(key === undefined || !got.stderr.includes(key), 'no key is shown');
    }
});

/* Somebody else at the address, who says this; gives the flags and what was heard. */
async function startOther(t, status, body) {
    const heard = [];
    const server = createServer((request, response) => {
        heard.push([request.method, request.url, request.headers.authorization]);
        response.writeHead(status).end(body);
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    t.after(() => server.close());
    return { flags: ['--listen', `127.0.0.1:${server.address().port}+admin`], heard };
}

test('a listener that asks for no key is told none', async (t) => {
    const { flags, heard } = await startOther(t, 200, '{"data":[]}');
    const { status, stderr } = await run(t, ['upstreams', ...flags], { ANTIPHON_ADMIN_KEY: OPERATOR });
    assert.deepEqual([status, stderr, heard], [0, '', [['GET', '/admin/upstreams', undefined]]]);
});

test('another server at the address is told from a gateway, and commands no terminal', async (t) => {
    for (const [code, body, message] of [
        [200, '<html>', /this is no answer of Antiphon to GET \/admin\/upstreams\n$/],
        [404, 'no', /the answer has the status 404\n$/],
        [500, '{"error":{"message":"a\\u001b[2J"}}', /: a \[2J\n$/],
        [404, '{"error":"no"}', /the answer has the status 404\n$/],
    ]) {
        const { flags } = await startOther(t, code, body);
        const { status, stdout, stderr } = await run(t, ['upstreams', ...flags]);
        assert.deepEqual([status, stdout], [1, '']);
        assert.match(stderr, message);
    }
});

describe('what keeps it from asking', () => {
    test('no listener with +admin: 2, and what to add', async (t) => {
        const { status, stdout, stderr } = await run(t, ['upstreams', '--listen', '127.0.0.1:8080']);
        assert.deepEqual([status, stdout], [2, '']);
        assert.match(stderr, /no address of `listen` has \+admin: add .* 127\.0\.0\.1:9090\+admin/);
    });

    test('one whose port is chosen at start: 2', async (t) => {
        const { status, stderr } = await run(t, ['upstreams', '--listen', '127.0.0.1:0+admin']);
        assert.equal(status, 2);
        assert.match(stderr, /port that is not 0/);
    });

    test('nobody answers: 1 with the reason', async (t) => {
        const { status, stdout, stderr } = await run(t, ['upstreams', '--listen', `127.0.0.1:${await freePort()}+admin`]);
        assert.deepEqual([status, stdout], [1, '']);
        assert.match(stderr, /^antiphon: 127\.0\.0\.1:\d+\+admin: .+\n$/);
    });

    test('mistakes on the command line: 2', async (t) => {
        for (const words of [['drain'], ['drain', '--listen', ':1+admin'], ['drain', '../x'], ['stop', 'near'], ['drain', 'near', '--json'], ['--nonsense'], ['--check-config']]) {
            const { status, stdout, stderr } = await run(t, ['upstreams', ...words]);
            assert.deepEqual([status, stdout], [2, ''], words.join(' '));
            assert.match(stderr, /^antiphon: /m);
        }
    });

    test('it has a help', async (t) => {
        const { status, stdout } = await run(t, ['upstreams', '--help']);
        assert.equal(status, 0);
        for (const usage of ['antiphon upstreams [--json] [flags]', 'antiphon upstreams drain NAME [flags]', 'ANTIPHON_ADMIN_KEY'])
            assert.ok(stdout.includes(usage), usage);
    });
});
