/* keys_reload.test.mjs -- SIGHUP: keys that are added, taken away and written wrong, while
 * clients are there. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import http from 'node:http';
import { rmSync, writeFileSync } from 'node:fs';
import test, { describe } from 'node:test';
import { checkError, checkStream } from '../lib/check.mjs';
import { ask, get, open } from '../lib/client.mjs';
import { BINARY, ENVIRONMENT, pair, startDaemon } from '../lib/daemon.mjs';
import { folder } from '../lib/folder.mjs';
import { patience } from '../lib/patience.mjs';
import { chunk, frames, stream } from '../lib/upstream.mjs';

const REQUEST = { model: 'm', input: 'Hi' };
const pause = (ms) => new Promise((done) => setTimeout(done, ms));
const bearer = (key) => ({ authorization: `Bearer ${key}` });
const lineOf = (name, key) =>
    spawnSync(BINARY, ['key', 'hash', name], { encoding: 'utf8', input: `${key}\n`, timeout: patience(10_000), env: ENVIRONMENT }).stdout;

const ALICE = lineOf('alice', 'sk-alice'), BOB = lineOf('bob', 'sk-bob'), AGAIN = lineOf('alice', 'sk-again');

/* A file, and how it is written anew and read; resolves when the log says what became of it. */
function keysFile(t, text) {
    const path = folder(t, 'keys');
    const write = (now) => writeFileSync(path, now, { mode: 0o600 });
    let seen = 0;
    write(text);
    return {
        path,
        async reload(daemon, now) {
            if (now !== undefined)
                write(now);
            daemon.child.kill('SIGHUP');
            for (const deadline = performance.now() + patience(10_000); performance.now() < deadline; await pause(2)) {
                const lines = daemon.log.split('\n').slice(0, -1).filter((line) => line.includes(' reload part=keys '));
                if (lines.length > seen)
                    return lines[seen++];
            }
            throw new Error(`keys were not read again:\n${daemon.log}`);
        },
    };
}

const status = async (daemon, key, options = {}) => (await get(daemon, '/v1/models', { ...options, headers: bearer(key) })).status;

describe('SIGHUP', () => {
    test('a key that is gone is refused from the next request on, also where a connection is open', async (t) => {
        const file = keysFile(t, ALICE + BOB);
        const { daemon } = await pair(t, '--api-keys-file', file.path, '--workers', '4');
        const agents = Array.from({ length: 12 }, () => new http.Agent({ keepAlive: true, maxSockets: 1 }));
        t.after(() => agents.forEach((agent) => agent.destroy()));
        for (const agent of agents)
            assert.deepEqual([await status(daemon, 'sk-bob', { agent }), await status(daemon, 'sk-again', { agent })], [200, 401]);
        assert.match(await file.reload(daemon, ALICE + AGAIN), /info reload part=keys result=ok keys=2$/);
        for (const agent of agents) {
            const got = await get(daemon, '/v1/models', { agent, headers: bearer('sk-bob') });
            assert.ok(got.request.reusedSocket);
            checkError(got, 401, 'invalid_api_key');
            assert.deepEqual([await status(daemon, 'sk-alice', { agent }), await status(daemon, 'sk-again', { agent })], [200, 200]);
        }
    });

    test('what runs goes on, and stays its owner\'s', async (t) => {
        const file = keysFile(t, ALICE + BOB);
        const { up, daemon } = await pair(t, '--api-keys-file', file.path);
        let go;
        up.next(stream([...frames(chunk({ content: 'one ' })), new Promise((done) => (go = done)), ...frames(chunk({ content: 'two' }), chunk({}, 'stop'), '[DONE]')]));
        const running = open(daemon, { ...REQUEST, stream: true }, { headers: bearer('sk-alice') });
        await running.until('one ');
        for (let i = 0; i < 5; i++)
            await file.reload(daemon, i % 2 ? ALICE + BOB : BOB);
        assert.equal(await status(daemon, 'sk-alice'), 401);
        go();
        await running.done;
        checkStream(running.text);
        assert.match(running.text, /response\.completed/);
        const [id] = running.text.match(/resp_\w+/);
        await file.reload(daemon, BOB + AGAIN);
        assert.equal((await get(daemon, `/v1/responses/${id}`, { headers: bearer('sk-again') })).status, 200);
        checkError(await get(daemon, `/v1/responses/${id}`, { headers: bearer('sk-bob') }), 404);
    });

    test('a mistake changes nothing, and the log says what and that', async (t) => {
        const file = keysFile(t, ALICE);
        const { daemon } = await pair(t, '--api-keys-file', file.path);
        for (const [text, why] of [[`${BOB}alice sk-plain-key\n`, /keys: line 2: must be a name/], ['', /keys: holds no key/], [BOB + BOB, /keys: line 2: the same key is in line 1/]]) {
            assert.match(await file.reload(daemon, text), /error reload part=keys result=error keys=1$/);
            await daemon.logged( why);
            assert.deepEqual([await status(daemon, 'sk-alice'), await status(daemon, 'sk-bob')], [200, 401]);
        }
        rmSync(file.path);
        assert.match(await file.reload(daemon), /result=error/);
        await daemon.logged(/keys: cannot be opened/);
        await daemon.logged(/the API keys stay as they are/);
        assert.equal(await status(daemon, 'sk-alice'), 200);
        assert.ok(!daemon.log.includes('sk-plain-key'));
        assert.match(await file.reload(daemon, BOB), /result=ok/);
        assert.equal(await status(daemon, 'sk-alice'), 401);
    });

    test('keys in the configuration file are read again, and not all can go', async (t) => {
        const config = folder(t, 'config.json');
        const file = { reload: keysFile(t, '').reload };
        const write = (keys) => writeFileSync(config, JSON.stringify({ api_key: keys }), { mode: 0o600 });
        write(['sk-one', 'sk-two']);
        const { daemon } = await pair(t, '--config', config);
        assert.deepEqual([await status(daemon, 'sk-one'), await status(daemon, 'sk-two')], [200, 200]);
        write(['sk-two']);
        assert.match(await file.reload(daemon), /result=ok keys=1/);
        assert.deepEqual([await status(daemon, 'sk-one'), await status(daemon, 'sk-two')], [401, 200]);
        write([]);
        assert.match(await file.reload(daemon), /result=error keys=1/);
        await daemon.logged(/no API key is left, which would let everybody in/);
        assert.deepEqual([await status(daemon, undefined), await status(daemon, 'sk-two')], [401, 200]);
        writeFileSync(config, '{"api_key": ');
        assert.match(await file.reload(daemon), /result=error keys=1/);
        assert.equal(await status(daemon, 'sk-two'), 200);
    });

    test('servers and keys are read again, each for itself', async (t) => {
        const file = keysFile(t, ALICE), servers = folder(t, 'mcp.json');
        writeFileSync(servers, '{"mcpServers": {}}');
        const { daemon } = await pair(t, '--api-keys-file', file.path, '--mcp-config', servers);
        assert.match(await file.reload(daemon, BOB), /result=ok/);
        await daemon.logged(/ reload part=mcp result=ok/);
        writeFileSync(servers, '{');
        assert.match(await file.reload(daemon, ALICE), /result=ok/);
        await daemon.logged(/ reload part=mcp result=error/);
        assert.equal(await status(daemon, 'sk-alice'), 200);
    });

    test('while requests come, none is lost', async (t) => {
        const file = keysFile(t, ALICE + BOB);
        const { daemon } = await pair(t, '--api-keys-file', file.path, '--workers', '2');
        let over = false, n = 0;
        const clients = Array.from({ length: 8 }, async () => {
            while (!over) {
                assert.equal((await ask(daemon, REQUEST, { headers: bearer('sk-alice') })).status, 200);
                n++;
            }
        });
        for (let i = 0; i < 30; i++)
            await file.reload(daemon, i % 2 ? ALICE + BOB : AGAIN + ALICE);
        over = true;
        await Promise.all(clients);
        assert.ok(n > 0);
    });

    test('without a file to read it ends the gateway, as a closed terminal does', async (t) => {
        const daemon = await startDaemon({ args: ['--api-key', 'sk-a'] });
        daemon.child.kill('SIGHUP');
        assert.deepEqual(await daemon.exited, { code: null, signal: 'SIGHUP' });
        t.diagnostic('ended');
    });
});
