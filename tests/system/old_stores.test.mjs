/* old_stores.test.mjs -- stores of every earlier version open whole, however old they are by the
 * calendar, and go on. They are made by the gateways of then: tests/data/stores. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { after, before, describe } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { ask, get } from '../lib/client.mjs';
import { BINARY, ENVIRONMENT, ROOT, startDaemon } from '../lib/daemon.mjs';
import { folder } from '../lib/folder.mjs';
import { patience } from '../lib/patience.mjs';
import { NO_POSTGRES, startPostgres } from '../lib/postgres.mjs';
import { startUpstream } from '../lib/upstream.mjs';

const STORES = join(ROOT, 'tests/data/stores');
const NAMES = readdirSync(STORES).filter((file) => file.endsWith('.json')).map((file) => file.slice(0, -'.json'.length)).sort();
const told = (name) => JSON.parse(readFileSync(join(STORES, `${name}.json`), 'utf8'));
const unpacked = (file) => gunzipSync(readFileSync(join(STORES, file)));

function store(...args) {
    const { status, stdout, stderr } = spawnSync(BINARY, ['store', ...args], { encoding: 'utf8', timeout: patience(30_000), env: ENVIRONMENT });
    assert.equal(status, 0, stderr);
    return stdout;
}

/* Everything that was told then is there, and is continued. */
async function opens(t, up, url, was) {
    const daemon = await startDaemon({ upstream: up.url, args: ['--model', 'm', '--store', url] });
    t.after(() => daemon.child.exitCode ?? daemon.stop());
    const responses = Object.values(was).filter(({ id }) => id !== undefined);
    const known = async () => {
        for (const { id, created_at, text } of responses) {
            const { status, json } = await get(daemon, `/v1/responses/${id}`);
            assert.equal(status, 200, `${id} is there`);
            assert.deepEqual([json.id, json.created_at, json.output.at(-1).content[0].text], [id, created_at, text]);
        }
    };
    const asked = async (body) => {
        up.reset();
        const { status, text } = await ask(daemon, { store: true, ...body });
        assert.equal(status, 200, text);
        return (await up.request(0)).body.messages.map(({ content }) => content);
    };

    await known();
    assert.match(store('purge', '--store', url), /^removed 0 /);
    assert.deepEqual(await asked({ input: 'three', previous_response_id: was.two.id }), ['one', 'Hello', 'two', 'Hello', 'three']);
    assert.deepEqual(await asked({ input: 'other', previous_response_id: was.branch.id }), ['one', 'Hello', 'another two', 'Hello', 'other']);
    if (was.conversation !== undefined) {
        assert.deepEqual(await asked({ input: 'again', conversation: was.conversation }), ['Hi', 'in a conversation', 'Hello', 'again']);
        const { json } = await get(daemon, `/v1/conversations/${was.conversation}/items?order=asc`);
        assert.deepEqual(json.data.map(({ content }) => content[0].text), ['Hi', 'in a conversation', 'Hello', 'again', 'Hello']);
    }
    await daemon.stop(); /* what is at work without being asked has been so by now */
    const stats = JSON.parse(store('stats', '--json', '--store', url));
    assert.equal(stats.responses, responses.length + (was.conversation === undefined ? 2 : 3));
}

let up;
before(async () => { up = await startUpstream(); });
after(() => up?.close());

test('there is a store of each earlier meaning', () => assert.ok(NAMES.length >= 8, NAMES.join()));

describe('SQLite', () => {
    for (const name of NAMES) {
        test(`${name} opens whole`, async (t) => {
            const file = folder(t, 'store.db');
            writeFileSync(file, unpacked(`${name}.db.gz`), { mode: 0o600 });
            await opens(t, up, `sqlite:${file}`, told(name).sqlite);
            assert.equal(spawnSync('sqlite3', [file, 'PRAGMA integrity_check; PRAGMA foreign_key_check'], { encoding: 'utf8' }).stdout, 'ok\n');
        });
    }
});

describe('PostgreSQL', { skip: NO_POSTGRES, concurrency: false }, () => {
    let server;
    before(async () => { server = await startPostgres(); });
    after(() => server?.close());

    for (const name of NAMES.filter((each) => told(each).postgres)) {
        test(`${name} opens whole`, async (t) => {
            const file = folder(t, 'store.sql');
            writeFileSync(file, unpacked(`${name}.sql.gz`));
            const url = await server.database();
            await server.load(file, url.split('/').at(-1));
            await opens(t, up, url, told(name).postgres);
        });
    }

    test('a migration may take longer than other statements', async (t) => {
        const [name] = NAMES.filter((each) => told(each).postgres), file = folder(t, 'store.sql');
        writeFileSync(file, unpacked(`${name}.sql.gz`));
        const url = await server.database(), database = url.split('/').at(-1);
        await server.load(file, database);
        const slow = server.sql('BEGIN; LOCK TABLE history IN SHARE MODE; SELECT pg_sleep(3); COMMIT', database);
        /* The lock is held for several times store_timeout. */
        const held = "SELECT 1 FROM pg_locks JOIN pg_class ON relation = pg_class.oid WHERE relname = 'history' AND mode = 'ShareLock'";
        while ((await server.sql(held, database)).length === 0)
            await new Promise((done) => setTimeout(done, 20));
        const daemon = await startDaemon({ upstream: up.url, args: ['--model', 'm', '--store', url, '--store-timeout', '500ms'] });
        t.after(() => daemon.stop());
        await slow;
        const { one } = told(name).postgres;
        assert.equal((await get(daemon, `/v1/responses/${one.id}`)).status, 200);
    });
});
