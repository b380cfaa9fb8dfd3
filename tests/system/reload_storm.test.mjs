/* reload_storm.test.mjs -- the configuration is read again (OPERATIONS 7.2): what changes and what does not,
 * and that no stream notices, however often it happens.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import test from 'node:test';
import tls from 'node:tls';
import { Authority, secureAsk } from '../lib/certs.mjs';
import { checkError, checkStream } from '../lib/check.mjs';
import { ask, get } from '../lib/client.mjs';
import { BINARY, ENVIRONMENT, pair } from '../lib/daemon.mjs';
import { folder } from '../lib/folder.mjs';
import { FIRST_WORD, ManyStreams, STREAMED } from '../lib/many_streams.mjs';
import { resident, settled } from '../lib/memory.mjs';
import { scrape } from '../lib/metrics.mjs';
import { IS_SLOW, patience } from '../lib/patience.mjs';
import { failure } from '../lib/upstream.mjs';

const pause = (ms) => new Promise((done) => setTimeout(done, ms));
const bearer = (key) => ({ authorization: `Bearer ${key}` });
const lineOf = (name, key) =>
    spawnSync(BINARY, ['key', 'hash', name], { encoding: 'utf8', input: `${key}\n`, timeout: patience(10_000), env: ENVIRONMENT }).stdout;

/* As an editor does: nobody ever reads half of it. */
function replace(path, text) {
    writeFileSync(`${path}.new`, text, { mode: 0o600 });
    renameSync(`${path}.new`, path);
}

/* A configuration file, and how it is written anew and read; resolves with the result of a part. */
function configFile(t, config) {
    const path = folder(t, 'config.json');
    const write = (now) => replace(path, typeof now === 'string' ? now : JSON.stringify(now));
    let seen = 0;
    write(config);
    return {
        path, write,
        async reload(daemon, now) {
            write(now);
            daemon.child.kill('SIGHUP');
            for (const deadline = performance.now() + patience(10_000); ; await pause(2)) {
                const found = [...daemon.log.matchAll(/ reload part=settings result=(\w+)/g)];
                if (found.length > seen)
                    return found[seen++][1];
                assert.ok(performance.now() < deadline, daemon.log);
            }
        },
    };
}

/* The result is logged before all workers go by it. */
async function until(question) {
    for (const deadline = performance.now() + patience(10_000); !await question(); await pause(2))
        assert.ok(performance.now() < deadline, 'it never came true');
}

test('limits, names of models, origins and the key of the upstream follow the file', async (t) => {
    const file = configFile(t, { upstream_key: 'sk-first-of-all' });
    const { up, daemon } = await pair(t, '--config', file.path, '--workers', '2');
    const body = { model: 'alias', input: 'x'.repeat(2000) };
    assert.equal((await ask(daemon, body)).status, 200);
    assert.equal(up.requests.at(-1).headers.authorization, 'Bearer sk-first-of-all');
    assert.equal(up.requests.at(-1).body.model, 'alias');
    assert.equal(await file.reload(daemon, { upstream_key: 'sk-second-of-all', model_alias: ['alias=real'], cors_origins: ['https://a.example'] }), 'ok');
    await until(async () => (await ask(daemon, body)).status === 200 && up.requests.at(-1).body.model === 'real');
    await until(async () => (await ask(daemon, body)).status === 200 && up.requests.at(-1).headers.authorization === 'Bearer sk-second-of-all');
    await until(async () => (await get(daemon, '/health', { headers: { origin: 'https://a.example' } })).headers['access-control-allow-origin'] === 'https://a.example');
    assert.equal(await file.reload(daemon, { max_body: '1KiB', upstream_key: 'sk-second-of-all' }), 'ok');
    await until(async () => (await ask(daemon, body)).status === 413);
    assert.equal(await file.reload(daemon, { upstream_key: 'sk-second-of-all' }), 'ok');
    await until(async () => (await ask(daemon, body)).status === 200);
});

test('a model that the file names is counted by its name from then on, answered or not', async (t) => {
    const file = configFile(t, {});
    const { up, daemon } = await pair(t, '--config', file.path, '--metrics', 'open');
    const countOf = async (model) => (await scrape(daemon)).value('antiphon_responses_total', { model });
    const fail = () => (up.next(failure(400, 'no')), ask(daemon, { model: 'named', input: 'Hi' }));
    await fail();
    await until(async () => await countOf('_other') === 1);
    assert.equal(await file.reload(daemon, { model_alias: ['named=real'] }), 'ok');
    await fail();
    await until(async () => await countOf('named') + await countOf('_other') === 2);
    assert.equal(await countOf('named'), 1);
});

test('log_level follows it', async (t) => {
    const file = configFile(t, { log_level: 'info' });
    const { daemon } = await pair(t, '--config', file.path);
    assert.equal(await file.reload(daemon, { log_level: 'debug' }), 'ok');
    await daemon.logged(/ log_level .*debug/);
    assert.equal(await file.reload(daemon, {}), 'ok');
    await daemon.logged(/ log_level .*debug[^]* log_level .*info/);
});

test('what cannot change is told, and a file with a mistake changes nothing', async (t) => {
    const file = configFile(t, { max_body: '1KiB' });
    const { daemon } = await pair(t, '--config', file.path);
    const body = { input: 'x'.repeat(2000) };
    checkError(await ask(daemon, body), 413, 'request_too_large');
    for (const [wrong, why] of [['{', /config\.json/], [{ max_body: 'much' }, /max_body/], [{ max_boddy: '1MiB' }, /max_boddy/]]) {
        assert.equal(await file.reload(daemon, wrong), 'error');
        await daemon.logged(why);
        await daemon.logged(/the settings stay as they are/);
        assert.equal((await ask(daemon, body)).status, 413);
    }
    assert.equal(await file.reload(daemon, { max_body: '1MiB', store_max_responses: 7, code_python: 'other' }), 'ok');
    await daemon.logged(/take effect when the gateway is started again: .*code_python.*store_max_responses/);
    await until(async () => (await ask(daemon, body)).status === 200);
});

/* A stream over TLS; `begun` is when it has said its first word. */
function openSecure(options, body, headers) {
    let begun;
    const stream = { begun: new Promise((done) => (begun = done)) };
    stream.done = secureAsk(options, { path: '/v1/responses', body, headers, look: (text) => text.includes(FIRST_WORD) && begun() });
    stream.done.catch(() => {}); /* seen when it is waited for */
    return stream;
}

const serialSeen = (options) => new Promise((done, fail) => {
    const socket = tls.connect(options, () => {
        const { serialNumber } = socket.getPeerCertificate();
        socket.destroy();
        done(serialNumber);
    }).on('error', fail);
});

test('every 100 ms during 500 streams, while keys, settings and certificates change: none breaks, nothing is lost, memory settles', async (t) => {
    const N = 500, ROUNDS = Number(process.env.ANTIPHON_TEST_RELOADS ?? 30), FIRST = ROUNDS / 3 | 0;
    const alice = lineOf('alice', 'sk-alice'), bob = lineOf('bob', 'sk-bob');
    const keys = folder(t, 'keys');
    const authority = new Authority(t), server = authority.make('server');
    const certificates = [readFileSync(server.cert, 'utf8'), authority.renewed()];
    const file = configFile(t, {});
    replace(keys, alice + bob);
    const { up, daemon } = await pair(t, '--listen', '127.0.0.1:0+tls', '--tls-cert', server.cert, '--tls-key', server.key,
        '--config', file.path, '--api-keys-file', keys, '--workers', '2');
    const secure = { ...authority.options(), port: Number(daemon.log.match(/listening address=\S+:(\d+)\+tls/)[1]) };
    const many = new ManyStreams(up, N), headers = bearer('sk-alice');
    const streams = many.open(daemon, { n: N / 2, headers });
    const secureStreams = Array.from({ length: N / 2 }, () => openSecure(secure, STREAMED, headers));
    await Promise.all([many.begun(streams), ...secureStreams.map((s) => Promise.race([s.begun, s.done]))]);
    let n = 0;
    const clients = [
        async () => assert.equal((await ask(daemon, { input: 'Hi' }, { headers })).status, 200),
        async () => assert.equal((await secureAsk(secure, { path: '/v1/responses', body: { input: 'Hi' }, headers })).status, 200),
    ].map(async (request) => {
        for (; !many.isOver; n++)
            await request();
    });
    let before;
    for (let i = 0; i < ROUNDS; i++) {
        replace(keys, i % 2 ? alice + bob : alice);
        replace(server.cert, certificates[i % 2]);
        file.write({ heartbeat_interval: `${i + 1}s`, model_alias: [`name-${i}=m`], cors_origins: [`https://a${i}.example`] });
        daemon.child.kill('SIGHUP');
        await pause(100); /* the point */
        if (i === FIRST)
            before = resident(daemon);
    }
    /* The newest is what a new connection sees. */
    await until(async () => (await ask(daemon, { model: `name-${ROUNDS - 1}`, input: 'Hi' }, { headers })).status === 200 && up.requests.at(-1).body.model === 'm');
    const last = BigInt(`0x${await serialSeen(secure)}`);
    assert.equal(last, BigInt(`0x${new X509Certificate(certificates[(ROUNDS - 1) % 2]).serialNumber}`));
    many.finish();
    await Promise.all(clients);
    await many.completed(streams);
    for (const s of secureStreams)
        assert.equal(checkStream((await s.done).text).response.status, 'completed');
    t.diagnostic(`${n} requests meanwhile; ${before} MiB, then ${resident(daemon)}`);
    for (const part of ['keys', 'settings', 'tls'])
        assert.match(daemon.log, new RegExp(`reload part=${part} result=ok`));
    assert.doesNotMatch(daemon.log, /reload part=\w+ result=error/);
    if (!IS_SLOW && !/asan|tsan/.test(BINARY)) /* a sanitizer holds memory of its own */
        assert.ok(await settled(daemon, before + 16) <= before + 16, `${before} MiB, then ${resident(daemon)}`);
});
