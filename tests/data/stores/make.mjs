/* make.mjs -- makes the stores of earlier versions again: node tests/data/stores/make.mjs [FOLDER [NAME]]
 *
 * Builds the gateway at each commit of README.md, or that of NAME alone, in FOLDER (default: a temporary
 * one; what is built there is taken as it is), has it store the same few things, and writes NAME.db.gz, NAME.sql.gz
 * (PostgreSQL, where the commit knows it) and NAME.json: what was told then.
 */
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { ask } from '../../lib/client.mjs';
import { startPostgres } from '../../lib/postgres.mjs';
import { startUpstream } from '../../lib/upstream.mjs';

const HERE = dirname(fileURLToPath(import.meta.url)), ROOT = join(HERE, '../../..');

/* Oldest first: the first daemon with a store, and each commit after which something else was
 * stored, or meant by it. */
const VERSIONS = [
    { name: '1-first', commit: 'f0f6e33' },
    { name: '1-hidden', commit: '769847c' },
    { name: '1-uses', commit: '0f86777', postgres: true },
    { name: '1-seconds', commit: '4880d28', postgres: true },
    { name: '1-milliseconds', commit: '88b9e09', postgres: true },
    { name: '1-once', commit: 'c6f6419', postgres: true },
    { name: '1-last', commit: '44eb037', postgres: true },
    { name: '2-last', commit: 'db75d161', postgres: true },
    { name: '3-last', commit: 'bf00d2f', postgres: true },
];

const folder = process.argv[2] ?? mkdtempSync(join(tmpdir(), 'antiphon-stores-'));

function build(commit) {
    const dir = join(folder, commit), binary = join(dir, 'build/antiphon');
    if (!existsSync(binary)) {
        mkdirSync(dir, { recursive: true });
        execFileSync('sh', ['-c', `git archive ${commit} | tar x -C "$1"`, 'sh', dir], { cwd: ROOT });
        execFileSync('make', [`-j${process.env.JOBS ?? 2}`, 'build/antiphon'], { cwd: dir, stdio: 'inherit' });
    }
    return binary;
}

async function start(binary, upstream, store) {
    const child = spawn(binary, ['serve', '--listen', '127.0.0.1:0', '--upstream', upstream, '--model', 'm', '--store', store],
        { stdio: ['ignore', 'ignore', 'pipe'], env: { PATH: process.env.PATH, ANTIPHON_CODE_INTERPRETER: 'off' } });
    let log = '', origin;
    for await (const text of child.stderr.setEncoding('utf8').iterator({ destroyOnReturn: false })) {
        log += text;
        if ((origin = log.match(/listening.*?address=([0-9.]+:\d+)/)))
            break;
    }
    assert.ok(origin, `${binary}: ${log}`);
    child.stderr.resume();
    return {
        origin: `http://${origin[1]}`,
        async stop() {
            child.kill('SIGTERM');
            assert.deepEqual(await once(child, 'exit'), [0, null]);
        },
    };
}

/* Two chains, one of them with a branch, and a conversation where the version has them. */
async function fill(daemon) {
    const told = {};
    const respond = async (name, body) => {
        const { status, json, text } = await ask(daemon, { store: true, ...body });
        assert.equal(status, 200, text);
        told[name] = { id: json.id, created_at: json.created_at, text: json.output.at(-1).content[0].text };
        return json.id;
    };
    const one = await respond('one', { input: 'one' });
    await respond('two', { input: 'two', previous_response_id: one });
    await respond('branch', { input: 'another two', previous_response_id: one });
    await respond('alone', { input: [{ role: 'user', content: 'alone' }], instructions: 'Be brief.' });
    const made = await ask(daemon, { metadata: { a: 'b' }, items: [{ role: 'user', content: 'Hi' }] }, { path: '/v1/conversations' });
    if (made.status === 200) {
        told.conversation = made.json.id;
        await respond('said', { input: 'in a conversation', conversation: made.json.id });
    }
    return told;
}

async function make({ name, commit, postgres }, up, server) {
    const binary = build(commit), file = join(folder, `${name}.db`);
    for (const suffix of ['', '-wal', '-shm'])
        rmSync(file + suffix, { force: true });
    const told = {};
    let daemon = await start(binary, up.url, `sqlite:${file}`);
    told.sqlite = await fill(daemon);
    await daemon.stop();
    execFileSync('sqlite3', [file, 'PRAGMA wal_checkpoint(TRUNCATE)']);
    writeFileSync(join(HERE, `${name}.db.gz`), gzipSync(readFileSync(file), { level: 9 }));
    if (postgres) {
        const url = await server.database();
        daemon = await start(binary, up.url, url);
        told.postgres = await fill(daemon);
        await daemon.stop();
        writeFileSync(join(HERE, `${name}.sql.gz`), gzipSync(await server.dump(url.split('/').at(-1)), { level: 9 }));
    }
    writeFileSync(join(HERE, `${name}.json`), `${JSON.stringify({ commit, ...told }, null, 1)}\n`);
}

const up = await startUpstream();
const server = await startPostgres();
for (const version of VERSIONS.filter(({ name }) => name === (process.argv[3] ?? name)))
    await make(version, up, server);
await server.close();
await up.close();
if (process.argv[2] === undefined)
    rmSync(folder, { recursive: true });
