/* operation.test.mjs -- what matters to whoever runs it: configuration, logs,
 * ending, and the built-in demo model. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { spawnSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { describe } from 'node:test';
import { gzipSync } from 'node:zlib';
import { Captures, checkStream, readingOf } from '../lib/check.mjs';
import { ask, get, open } from '../lib/client.mjs';
import { BINARY, pair, startDaemon } from '../lib/daemon.mjs';
import { IS_SLOW, patience } from '../lib/patience.mjs';
import { HANG, chunk, failure, frames, startUpstream, stream, textStream } from '../lib/upstream.mjs';

const captures = new Captures();
const REQUEST = { model: 'm', input: 'Hi' };

/* The system's resolver, whose name servers do not answer for one name. */
const SILENT_RESOLVER = `
#define _GNU_SOURCE
#include <dlfcn.h>
#include <netdb.h>
#include <string.h>
#include <unistd.h>
int getaddrinfo(const char *host, const char *port, const struct addrinfo *hints, struct addrinfo **ret)
{
    while (host != NULL && strcmp(host, "silent.test") == 0)
        pause();
    return ((__typeof__(getaddrinfo) *)dlsym(RTLD_NEXT, "getaddrinfo"))(host, port, hints, ret);
}
`;

/* Until nobody listens any more: each worker hears of the end for itself. */
async function untilRefused(daemon) {
    for (const deadline = performance.now() + patience(5000); ;) {
        const { code } = await get(daemon, '/health').catch((error) => error);
        if (code === 'ECONNREFUSED')
            return;
        assert.ok(performance.now() < deadline, `still there: ${code}`);
    }
}

function folder(t) {
    const dir = mkdtempSync(join(tmpdir(), 'antiphon-test-'));
    t.after(() => rmSync(dir, { recursive: true }));
    return dir;
}

describe('configuration', { concurrency: false }, () => {
    test('a file, the environment and flags, later ones winning', async (t) => {
        const up = await startUpstream();
        t.after(() => up.close());
        const file = join(folder(t), 'antiphon.json');
        writeFileSync(file, `{ // a comment\n"listen": "127.0.0.1:0", "upstream": "${up.url}", "model": "from-file", "upstream_key": "from-file", }`);

        for (const [want, env, args] of [
            ['from-file', {}, []],
            ['from-env', { ANTIPHON_MODEL: 'from-env' }, []],
            ['from-flag', { ANTIPHON_MODEL: 'from-env' }, ['--model', 'from-flag']],
        ]) {
            up.reset();
            const daemon = await startDaemon({ exact: true, args: ['--config', file, ...args], env });
            assert.equal((await ask(daemon, { input: 'Hi' })).json.model, want);
            assert.equal((await up.request(0)).headers.authorization, 'Bearer from-file');
            await daemon.stop();
        }
    });

    for (const [what, args, word] of [
        ['an unknown flag', ['serve', '--no-such-flag'], /no-such-flag/],
        ['a bad duration', ['serve', '--idle-timeout', 'soon'], /idle.timeout.*soon/s],
        ['a bad address', ['serve', '--listen', 'nowhere'], /nowhere/],
        ['a missing file', ['serve', '--config', '/nonexistent/antiphon.conf'], /nonexistent/],
        ['an unknown command', ['dance'], /dance/],
    ]) {
        test(`${what} is refused with its name`, () => {
            const { status, stdout, stderr } = spawnSync(BINARY, args, { encoding: 'utf8', timeout: patience(5000) });
            assert.ok(status > 0, `status ${status}`);
            assert.match(stdout + stderr, word);
        });
    }

    test('an address in use is told and ends the process', async (t) => {
        const { daemon } = await pair(t);
        const { status, stderr } = spawnSync(BINARY, ['serve', '--listen', `127.0.0.1:${daemon.port}`], { encoding: 'utf8', timeout: patience(3000) });
        assert.ok(status > 0, `status ${status}: two gateways must not share an address unnoticed`);
        assert.match(stderr, new RegExp(String(daemon.port)));
    });

    test('a Unix socket can be the upstream', async (t) => {
        const up = await startUpstream(join(folder(t), 'upstream.sock'));
        const daemon = await startDaemon({ upstream: up.origin });
        t.after(() => daemon.stop().finally(() => up.close()));
        up.always(textStream('over a file'));
        const got = await ask(daemon, { ...REQUEST, stream: true });
        assert.equal(readingOf(checkStream(got.text).response).text, 'over a file');
        assert.equal((await up.request(0)).path, '/v1/chat/completions');
    });

    test('one worker serves, too', async (t) => {
        const { daemon } = await pair(t, '--workers', '1');
        const all = await Promise.all(Array.from({ length: 20 }, () => ask(daemon, REQUEST)));
        assert.ok(all.every((got) => got.status === 200));
    });
});

describe('logs', { concurrency: false }, () => {
    test('one line tells of a turn', async (t) => {
        const { up, daemon } = await pair(t);
        up.always(textStream('one two three'));
        const got = await ask(daemon, REQUEST, { headers: { 'x-request-id': 'find-me' } });
        const [line] = await daemon.logged(/^.*request_id=find-me.*$/m);
        for (const part of [`turn id=${got.json.id}`, 'model=m', 'status=completed', 'rounds=1', 'input_tokens=9', 'output_tokens=3'])
            assert.ok(` ${line} `.includes(` ${part} `), `${part} in ${line}`);
        assert.match(line, / ttfb_ms=\d.* total_ms=\d/);
    });

    test('JSON lines are JSON', async (t) => {
        const { daemon } = await pair(t, '--log-format', 'json');
        await ask(daemon, { ...REQUEST, model: 'odd"model\n\u2028' }, { headers: { 'x-request-id': 'find-me' } });
        await daemon.logged(/find-me/);
        for (const line of daemon.log.trim().split('\n'))
            JSON.parse(line);
    });

    test('a model is logged by its name, however the client escapes it', async (t) => {
        const { daemon } = await pair(t);
        await ask(daemon, '{"model":"org\\/mod\\u0065l","input":"Hi"}', { headers: { 'x-request-id': 'find-me' } });
        const [line] = await daemon.logged(/^.*request_id=find-me.*$/m);
        assert.match(line, / model=org\/model /);
    });

    test('a model name cannot forge a line', async (t) => {
        const { daemon } = await pair(t);
        await ask(daemon, { ...REQUEST, model: 'a\nturn id=forged status=completed' }, { headers: { 'x-request-id': 'find-me' } });
        await daemon.logged(/request_id=find-me/);
        assert.ok(!/^turn id=forged/m.test(daemon.log), daemon.log);
    });

    test('what a client chooses takes no line from what is behind it', async (t) => {
        const { daemon } = await pair(t, '--log-level', 'debug');
        const long = 'long-'.repeat(3000);
        const headers = { 'x-request-id': 'find-me' };
        await ask(daemon, { ...REQUEST, model: `\u202e${long}` }, { headers });
        await ask(daemon, { ...REQUEST, model: `\u202e${long}`, messages: [{ role: 'user', content: 'Hi' }] }, { headers, path: '/v1/chat/completions' });
        await get(daemon, `/v1/models/${long}`, { headers });
        await get(daemon, `/v1/responses/${long}`, { headers });
        const [turn] = await daemon.logged(/^.* turn .*request_id=find-me.*$/m);
        assert.match(turn, / model="\\u202elong-[^" ]{0,56}" /);
        await daemon.logged(/^.* (relay|state) .*request_id=find-me.* path=\/v1\/responses\/long-.{0,256} outcome=/m);
        for (const line of daemon.log.split('\n'))
            assert.ok(line.length < 800, line);
    });

    test('bodies and keys never appear, not even when things fail', async (t) => {
        const { up, daemon } = await pair(t, '--upstream-key', 'SECRET-upstream', '--log-level', 'debug');
        const headers = { authorization: 'Bearer SECRET-client', cookie: 'SECRET-cookie' };
        const secret = { model: 'm', input: 'SECRET-input', instructions: 'SECRET-instructions', metadata: { k: 'SECRET-metadata' }, messages: [{ role: 'user', content: 'SECRET-chat' }] };
        up.next(textStream('SECRET-output', { reasoning: 'SECRET-thought' }), failure(500, 'no luck with SECRET-upstream'),
            stream(['data: {"SECRET-broken\n\n', ...frames(chunk({ content: 'SECRET-output' }))]));
        for (const [body, path] of [[secret], [secret], [secret], [secret, '/v1/chat/completions'], ['{"SECRET-syntax": '], [{ ...secret, temperature: 'SECRET-value' }], [secret, '/v1/responses?key=SECRET-query']])
            await ask(daemon, body, { headers, path });
        await ask(daemon, { ...secret, stream: true }, { headers: { ...headers, 'x-request-id': 'the-last' } });
        await daemon.logged(/the-last/);
        assert.ok(!daemon.log.includes('SECRET'), daemon.log.match(/.*SECRET.*/)?.[0]);
    });
});

describe('the end', { concurrency: false }, () => {
    test('SIGTERM lets a running stream finish and takes no new one', async (t) => {
        const up = await startUpstream();
        t.after(() => up.close());
        const daemon = await startDaemon({ upstream: up.url });
        let release;
        up.next(stream([...frames(chunk({ content: 'first' })), new Promise((done) => (release = done)), ...frames(chunk({ content: ' last' }, 'stop'), '[DONE]')]));
        const call = open(daemon, { ...REQUEST, stream: true });
        await call.until('"delta":"first"');
        const stopped = daemon.stop();
        await daemon.logged(/stopping/);
        await untilRefused(daemon);
        release();
        assert.equal(readingOf(checkStream((await call.done).text).response).text, 'first last');
        await stopped;
    });

    test('SIGTERM lets turns of the demo model finish, on every worker', async () => {
        const daemon = await startDaemon({ args: ['--workers', '4', '--drain-timeout', '20s'] });
        const calls = Array.from({ length: 12 }, () => open(daemon, { ...REQUEST, stream: true }));
        await Promise.all(calls.map((call) => call.until('response.output_text.delta')));
        const stopped = daemon.stop();
        for (const call of calls)
            assert.equal(checkStream((await call.done).text).response.status, 'completed');
        await stopped;
    });

    test('after drain_timeout a relayed stream is broken off and logged', async (t) => {
        const up = await startUpstream();
        t.after(() => up.close());
        const daemon = await startDaemon({ upstream: up.url, args: ['--drain-timeout', '200ms'] });
        up.next(stream([...frames(chunk({ content: 'first' })), HANG]));
        const call = open(daemon, { ...REQUEST, stream: true }, { path: '/v1/chat/completions' });
        await call.until('first');
        const stopped = daemon.stop();
        await assert.rejects(call.done);
        await stopped;
        await daemon.logged(/relay .*outcome=server_is_overloaded/);
    });

    test('after drain_timeout running streams are failed, properly', async (t) => {
        const up = await startUpstream();
        t.after(() => up.close());
        const daemon = await startDaemon({ upstream: up.url, args: ['--drain-timeout', '200ms'] });
        up.next(stream([...frames(chunk({ content: 'first' })), new Promise(() => {})]));
        const call = open(daemon, { ...REQUEST, stream: true });
        await call.until('"delta":"first"');
        await Promise.all([daemon.stop(), call.done]);
        captures.keep('drained.sse', call.bytes);
        assert.equal(checkStream(call.text).response.status, 'failed');
    });

    /* Its threads cannot be ended, so nothing of the process is tidied up. */
    const NOT_TIDY = IS_SLOW && 'what it leaves behind on purpose is a leak for a checker';

    test('a lookup that hangs does not keep it from ending', { skip: NOT_TIDY }, async (t) => {
        const dir = folder(t);
        const [source, library] = [join(dir, 'silent.c'), join(dir, 'silent.so')];
        writeFileSync(source, SILENT_RESOLVER);
        assert.equal(spawnSync('cc', ['-shared', '-fPIC', '-o', library, source]).status, 0);
        const daemon = await startDaemon({
            upstream: 'http://silent.test', args: ['--drain-timeout', '200ms', '--early-error-window', '0'],
            env: { LD_PRELOAD: library, ASAN_OPTIONS: 'verify_asan_link_order=0' },
        });
        const call = open(daemon, { ...REQUEST, stream: true });
        await call.until('response.in_progress'); /* which does not wait for the upstream */
        await Promise.all([daemon.stop(), call.done]);
        assert.equal(checkStream(call.text).response.status, 'failed');
    });

    for (const signal of ['SIGTERM', 'SIGINT']) {
        test(`${signal} ends an idle daemon at once with status 0`, async () => {
            const daemon = await startDaemon({});
            const started = performance.now();
            daemon.child.kill(signal);
            assert.deepEqual(await daemon.exited, { code: 0, signal: null });
            assert.ok(performance.now() - started < 2000);
        });
    }
});

describe('the demo model', { concurrency: false }, () => {
    const weather = { type: 'function', name: 'get_weather', parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] } };

    test('streams text, thinks when asked to, calls a tool that is named, quotes its result', async (t) => {
        const daemon = await startDaemon({});
        t.after(() => daemon.stop());
        const turn = async (input, tools) => {
            const got = await ask(daemon, { model: 'demo', input, tools, stream: true });
            captures.keep('demo.sse', got.bytes);
            return checkStream(got.text).response;
        };

        const plain = await turn('Hello');
        assert.deepEqual(plain.output.map((i) => i.type), ['message']);
        assert.ok(readingOf(plain).text.length > 0);
        assert.ok(plain.usage.output_tokens > 0);
        assert.equal(readingOf(await turn('Hello')).text, readingOf(plain).text, 'the same again');
        assert.ok(readingOf(await turn('please think about it')).reasoning.length > 0);

        const { output: [call] } = await turn('call get_weather', [weather]);
        assert.deepEqual([call.type, call.name], ['function_call', 'get_weather']);
        assert.equal(typeof JSON.parse(call.arguments).city, 'string');
        const answer = await turn([{ role: 'user', content: 'call get_weather' }, call,
            { type: 'function_call_output', call_id: call.call_id, output: 'quite SUNNY' }], [weather]);
        assert.match(readingOf(answer).text, /quite SUNNY/);

        assert.equal((await get(daemon, '/v1/models')).json.object, 'list');
        const body = JSON.stringify({ model: 'demo', messages: [{ role: 'user', content: 'Hello' }] });
        const path = '/v1/chat/completions';
        assert.equal((await ask(daemon, body, { path })).status, 200);
        assert.equal((await ask(daemon, gzipSync(body), { path, headers: { 'content-encoding': 'gzip' } })).status, 200, 'compressed');
    });
});

captures.judge(test);
