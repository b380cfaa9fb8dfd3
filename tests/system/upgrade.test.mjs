/* upgrade.test.mjs -- SIGUSR2: another process takes the place of the gateway, and nobody notices
 * (OPERATIONS 7.5).
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import test from 'node:test';
import { checkStream } from '../lib/check.mjs';
import { ask, get, open } from '../lib/client.mjs';
import { startDaemon } from '../lib/daemon.mjs';
import { folder } from '../lib/folder.mjs';
import { ManyStreams } from '../lib/many_streams.mjs';
import { startNotify } from '../lib/notify.mjs';
import { patience } from '../lib/patience.mjs';
import { chunk, frames, startUpstream, stream } from '../lib/upstream.mjs';

const HAS_SQLITE = spawnSync('sqlite3', ['--version']).status === 0;

const pause = (ms) => new Promise((done) => setTimeout(done, ms));

async function place(t, { args = [], env = {} } = {}) {
    const up = await startUpstream();
    t.after(() => up.close());
    const store = folder(t, 'antiphon.db');
    const daemon = await startDaemon({ upstream: up.url, args: ['--model', 'm', '--store', `sqlite:${store}`, ...args], env });
    const pids = [daemon.child.pid];
    t.after(() => pids.forEach((pid) => {
        try {
            process.kill(pid, 'SIGKILL');
        } catch { /* it has ended */ }
    }));
    let n = 0;
    return {
        up, daemon, store,
        /* The process that has taken over. */
        async upgrade(pid = pids.at(-1), n_before = 0) {
            n += n_before; /* that others have started */
            process.kill(pid, 'SIGUSR2');
            for (const deadline = performance.now() + patience(40_000); ; await pause(5)) {
                const found = [...daemon.log.matchAll(/ upgrade result=(ok pid=(\d+)|error reason=(.*))/g)][n];
                if (found) {
                    n++;
                    if (found[2] === undefined)
                        return found[3];
                    pids.push(Number(found[2]));
                    return Number(found[2]);
                }
                assert.ok(performance.now() < deadline, daemon.log);
            }
        },
    };
}

const isThere = (pid) => {
    try {
        process.kill(pid, 0);
        return true;
    } catch {
        return false;
    }
};

async function untilGone(pid) {
    for (const deadline = performance.now() + patience(30_000); isThere(pid); await pause(10))
        assert.ok(performance.now() < deadline, `${pid} is still there`);
}

async function endOf(daemon, pid) {
    process.kill(pid, 'SIGTERM');
    await untilGone(pid);
    assert.doesNotMatch(daemon.log, /Sanitizer|runtime error/);
}

test('a stream of the former process goes on while the next one answers, from the same store', async (t) => {
    const { up, daemon, upgrade } = await place(t);
    const former = daemon.child.pid;
    const kept = (await ask(daemon, { input: 'Remember' })).json;
    let release;
    up.next(stream([...frames(chunk({ content: 'Slow' })), new Promise((done) => (release = done)), ...frames(chunk({}, 'stop'), '[DONE]')]));
    const slow = open(daemon, { input: 'Hi', stream: true });
    await slow.until('"delta":"Slow"');
    const next = await upgrade();
    assert.notEqual(next, former);
    assert.equal((await get(daemon, `/v1/responses/${kept.id}`)).json.id, kept.id);
    assert.equal((await ask(daemon, { input: 'More', previous_response_id: kept.id })).status, 200);
    assert.ok(isThere(former), 'it has a stream');
    release();
    const { response } = checkStream((await slow.done).text);
    assert.equal(response.status, 'completed');
    await untilGone(former);
    assert.equal((await get(daemon, `/v1/responses/${response.id}`)).json.status, 'completed');
    await endOf(daemon, next);
});

test('under load nobody is refused and nothing breaks, several times', async (t) => {
    const { up, daemon, upgrade } = await place(t, { args: ['--workers', '2', '--drain-timeout', '10m'] });
    const agent = new http.Agent({ keepAlive: true, maxSockets: 4 });
    t.after(() => agent.destroy());
    const many = new ManyStreams(up, 500);
    const streams = many.open(daemon);
    await many.begun(streams);
    let n = 0;
    const clients = Array.from({ length: 8 }, async (_, i) => {
        while (!many.isOver) {
            assert.equal((await ask(daemon, { input: 'Hi' }, i < 4 ? {} : { agent })).status, 200);
            n++;
        }
    });
    let last;
    for (let i = 0; i < 3; i++) {
        const before = n;
        last = await upgrade();
        while (n < before + 40)
            await pause(5);
    }
    many.finish();
    await Promise.all(clients);
    await many.completed(streams);
    t.diagnostic(`${n} requests`);
    await untilGone(daemon.child.pid);
    await endOf(daemon, last);
});

test('the service manager hears of the new process, and no more of the old one', async (t) => {
    const notify = await startNotify(t);
    const { daemon, upgrade } = await place(t, { env: { NOTIFY_SOCKET: notify.path } });
    await notify.until(/^READY=1\nMAINPID=/);
    const next = await upgrade();
    assert.equal(Number((await notify.until(/^MAINPID=(\d+)$/))[1]), next);
    await untilGone(daemon.child.pid);
    assert.ok(!notify.said.includes('STOPPING=1'), 'the service goes on');
    await endOf(daemon, next);
    await notify.until(/^STOPPING=1$/);
});

test('a configuration that is wrong by now fails the upgrade, and the gateway goes on', async (t) => {
    const config = folder(t, 'config.json');
    writeFileSync(config, '{}');
    const { daemon, upgrade } = await place(t, { args: ['--config', config] });
    writeFileSync(config, '{"workers": "many"}');
    assert.match(await upgrade(), /the new program refuses the configuration/);
    assert.equal((await ask(daemon, { input: 'Hi' })).status, 200);
    writeFileSync(config, '{}');
    const next = await upgrade();
    assert.ok(Number.isInteger(next), String(next));
    await untilGone(daemon.child.pid);
    assert.equal((await ask(daemon, { input: 'Hi' })).status, 200);
    await endOf(daemon, next);
});

test('a program that cannot be started fails it with its reason', async (t) => {
    const config = folder(t, 'config.json'), servers = folder(t, 'mcp.json');
    writeFileSync(config, '{}');
    const { daemon, upgrade } = await place(t, { args: ['--config', config] });
    writeFileSync(servers, JSON.stringify({ mcpServers: { gone: { command: '/nowhere', required: true } } }));
    writeFileSync(config, JSON.stringify({ mcp_config: servers }));
    assert.match(await upgrade(), /MCP server gone is required and not available/);
    assert.equal((await ask(daemon, { input: 'Hi' })).status, 200);
    await daemon.stop();
});

/* What a newer or an older program would have left in the database that both use. */
for (const [what, meta, why, status] of [
    ['newer than it knows', 'schema_version = 99, compatible_from = 99', /made by a newer version of this program.* want a program that knows 99/, 3],
    ['older than it reads', 'schema_version = -1', /too old for this program.*docs\/upgrade\.md/, 1],
    ['to be migrated so that the running one cannot use it', 'schema_version = 3', /would have to be migrated.*stop that one/, 1],
]) {
    test(`a store that is ${what} fails it with that reason, and the gateway goes on`, { skip: !HAS_SQLITE && 'no sqlite3' }, async (t) => {
        const { daemon, upgrade, store } = await place(t);
        const kept = (await ask(daemon, { input: 'Remember' })).json;
        const sql = (text) => spawnSync('sqlite3', [store, text], { encoding: 'utf8' }).stdout.trim();
        const was = sql('SELECT schema_version, compatible_from FROM meta');
        sql(`UPDATE meta SET ${meta}`);
        const now = sql('SELECT schema_version, compatible_from FROM meta');
        assert.notEqual(now, was);
        const reason = await upgrade();
        assert.match(reason, why);
        assert.match(reason, new RegExp(` status=${status}$`));
        assert.equal(sql('SELECT schema_version, compatible_from FROM meta'), now, 'it is as it was');
        assert.equal((await ask(daemon, { input: 'More', previous_response_id: kept.id })).status, 200);
        const [version, from] = was.split('|');
        sql(`UPDATE meta SET schema_version = ${version}, compatible_from = ${from}`);
        const next = await upgrade();
        assert.ok(Number.isInteger(next), String(next));
        await untilGone(daemon.child.pid);
        assert.equal((await get(daemon, `/v1/responses/${kept.id}`)).json.id, kept.id);
        await endOf(daemon, next);
    });
}

test('one at a time: another signal is told and changes nothing', async (t) => {
    const config = folder(t, 'config.json'), servers = folder(t, 'mcp.json');
    writeFileSync(config, '{}');
    const { daemon, upgrade } = await place(t, { args: ['--config', config] });
    /* The new program waits for a server that never answers. */
    writeFileSync(servers, JSON.stringify({ mcpServers: { silent: { command: '/bin/sh', args: ['-c', 'while read line; do :; done'], required: true } } }));
    writeFileSync(config, JSON.stringify({ mcp_config: servers }));
    daemon.child.kill('SIGUSR2');
    const [, pid] = await daemon.logged(/ upgrade result=started pid=(\d+)/);
    daemon.child.kill('SIGUSR2');
    await daemon.logged(/ an upgrade is under way already/);
    assert.equal(daemon.log.match(/ upgrade result=started /g).length, 1);
    assert.equal((await ask(daemon, { input: 'Hi' })).status, 200);
    process.kill(Number(pid), 'SIGKILL');
    await daemon.logged(/ upgrade result=error reason="the new program was ended by signal 9"/);
    writeFileSync(config, '{}');
    const next = await upgrade(undefined, 1);
    assert.ok(Number.isInteger(next), String(next));
    await untilGone(daemon.child.pid);
    await endOf(daemon, next);
});

test('a Unix socket stays where it is, and goes with the last process', async (t) => {
    const path = folder(t, 's');
    const { daemon, upgrade } = await place(t, { args: ['--listen', `unix:${path}`] });
    const socket = { socketPath: path };
    assert.equal((await get(daemon, '/health', socket)).status, 200);
    const next = await upgrade();
    await untilGone(daemon.child.pid);
    assert.equal((await get(daemon, '/health', socket)).status, 200);
    await endOf(daemon, next);
    assert.throws(() => readFileSync(path), { code: 'ENOENT' });
});
