/* keys.test.mjs -- the keys of clients: who is let in, what each is told, and who
 * gets to see a key. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { after, before, beforeEach, describe } from 'node:test';
import { Captures, checkError } from '../lib/check.mjs';
import { ask, get, raw } from '../lib/client.mjs';
import { BINARY, ENVIRONMENT, pair, shared, startDaemon } from '../lib/daemon.mjs';
import { patience } from '../lib/patience.mjs';
import { failure } from '../lib/upstream.mjs';

const REQUEST = { model: 'm', input: 'Hi' };
const CHAT = '/v1/chat/completions';
const KEY = 'sk-first-key', SECOND = 'sk-second-key';
const bearer = (key) => ({ authorization: `Bearer ${key}` });
const captures = new Captures();

/* `antiphon key ...`, which ends by itself. */
const keyCommand = (args, input = '') =>
    spawnSync(BINARY, ['key', ...args], { encoding: 'utf8', input, timeout: patience(10_000), env: ENVIRONMENT });
const lineOf = (name, key) => keyCommand(['hash', name], `${key}\n`).stdout;

function keysFile(t, ...lines) {
    const dir = mkdtempSync(join(tmpdir(), 'antiphon-test-'));
    t.after(() => rmSync(dir, { recursive: true }));
    const file = join(dir, 'keys');
    writeFileSync(file, lines.join(''), { mode: 0o600 });
    return file;
}

/* What is not to be let in, and what it is told. */
const strangers = [
    ['no key', {}, /Authorization: Bearer/],
    ['a wrong key', bearer(`${KEY}x`), /^Incorrect API key provided\.$/],
    ['the beginning of a key', bearer(KEY.slice(0, -1)), /^Incorrect API key provided\.$/],
    ['another scheme', { authorization: `Basic ${KEY}` }, /Authorization: Bearer/],
    ['a bare key', { authorization: KEY }, /Authorization: Bearer/],
    ['no key behind the scheme', { authorization: 'Bearer ' }, /Authorization: Bearer/],
    ['a key in another header', { 'x-api-key': KEY, 'api-key': KEY }, /Authorization: Bearer/],
];

/* method, path, body, status with a key */
const closed = [
    ['POST', '/v1/responses', REQUEST, 200],
    ['POST', '/v1/responses', { ...REQUEST, stream: true }, 200],
    ['POST', '/v1/responses', '{', 400],
    ['POST', '/responses', REQUEST, 200],
    ['GET', '/v1/responses', undefined, 405],
    ['POST', CHAT, REQUEST, 200],
    ['GET', '/v1/models', undefined, 200],
    ['GET', '/v1/models/m', undefined, 200],
    ['POST', '/v1/completions', REQUEST, 200],
    ['POST', '/v1/embeddings', REQUEST, 200],
    ['PUT', '/v1/files/x', REQUEST, 200],
    ['GET', '/v1/mcp/x', undefined, 404],
    ['GET', '/nothing', undefined, 404],
    ['POST', '/health', REQUEST, 405],
    ['PURGE', '/v1/responses', undefined, 405],
];

describe('with keys', { concurrency: false }, () => {
    const both = shared({ before, beforeEach, after }, '--api-key', KEY, '--api-key', SECOND, '--relay', 'all',
        '--cors-origins', 'https://chat.example.org', '--log-level', 'debug');

    for (const [method, path, body, status] of closed) {
        test(`${method} ${path} ${JSON.stringify(body) ?? ''} needs one of them`, async () => {
            for (const [who, headers, message] of strangers) {
                const got = await ask(both.daemon, body, { method, path, headers });
                const error = checkError(got, 401, 'invalid_api_key', null);
                assert.equal(error.type, 'invalid_request_error');
                assert.match(error.message, message, who);
                assert.equal(got.headers['www-authenticate'], 'Bearer');
                assert.equal(got.headers['retry-after'], undefined);
                captures.keep(`${who}.json`, got.bytes, '--kind', 'error');
            }
            assert.equal(both.up.requests.length, 0);
            for (const headers of [bearer(KEY), bearer(SECOND), { authorization: `bEARER   ${KEY}` }]) {
                const got = await ask(both.daemon, body, { method, path, headers });
                assert.equal(got.status, status, got.text);
            }
            for (const { headers } of both.up.requests)
                assert.equal(headers.authorization, undefined);
        });
    }

    test('health and the name of the program need none', async () => {
        for (const path of ['/health', '/']) {
            for (const method of ['GET', 'HEAD']) {
                for (const [, headers] of strangers)
                    assert.equal((await get(both.daemon, path, { method, headers })).status, 200);
            }
        }
    });

    test('a preflight needs none, and pages may read the refusal', async () => {
        const origin = 'https://chat.example.org';
        const preflight = await get(both.daemon, '/v1/responses', { method: 'OPTIONS', headers:
            { origin, 'access-control-request-method': 'POST', 'access-control-request-headers': 'authorization' } });
        assert.equal(preflight.status, 204);
        assert.equal(preflight.headers['access-control-allow-headers'], 'authorization');
        const refused = await ask(both.daemon, REQUEST, { headers: { origin } });
        checkError(refused, 401, 'invalid_api_key');
        assert.equal(refused.headers['access-control-allow-origin'], origin);
    });

    test('the body of a stranger is not looked at', async () => {
        for (const headers of [{ 'content-encoding': 'gzip' }, { 'content-encoding': 'none-such' }, { 'content-type': 'text/plain' }])
            checkError(await ask(both.daemon, 'x', { headers }), 401, 'invalid_api_key');
    });

    test('a malformed upgrade is 401 as well', async () => {
        const upgrade = { connection: 'upgrade', upgrade: 'websocket' };
        checkError(await get(both.daemon, '/v1/responses', { headers: upgrade }), 401);
        checkError(await get(both.daemon, '/v1/responses', { headers: { ...upgrade, ...bearer(KEY) } }), 400);
    });

    test('the connection of a stranger stays usable', async () => {
        const request = (key) => `GET /v1/models HTTP/1.1\r\nhost: a\r\n${key}\r\n`;
        const good = `authorization: Bearer ${KEY}\r\nconnection: close\r\n`;
        const got = (await raw(both.daemon, request('') + request(good))).toString();
        assert.deepEqual(got.match(/HTTP\/1\.1 \d+/g), ['HTTP/1.1 401', 'HTTP/1.1 200']);
    });

    test('an upstream that refuses the gateway is not the fault of the client', async () => {
        both.up.next(failure(401, 'no'));
        checkError(await ask(both.daemon, REQUEST, { headers: bearer(KEY) }), 502, 'upstream_auth');
    });

    test('the log knows of strangers, and no key', async () => {
        await new Promise((done) => setTimeout(done, 1100)); /* ten are told in a second, which others may have used up */
        await ask(both.daemon, REQUEST, { headers: { ...bearer('sk-no-key'), 'x-request-id': 'req_stranger' } });
        const [line] = await both.daemon.logged(/.* rejected .*request_id=req_stranger.*/);
        assert.match(line, /info rejected reason=key method=POST path=\/v1\/responses client=127\.0\.0\.1 request_id=req_stranger error=invalid_api_key( left_out=\d+)?$/);
        for (const key of [KEY, SECOND, 'sk-no-key', ...[KEY, SECOND].map((k) => lineOf('a', k).trim().slice(2))])
            assert.ok(!both.daemon.log.includes(key), key);
        assert.doesNotMatch(both.daemon.log, /owner=/);
    });
});

describe('the upstream', { concurrency: false }, () => {
    test('gets the key of the gateway when clients have keys of their own', async (t) => {
        const { up, daemon } = await pair(t, '--api-key', KEY, '--upstream-key', 'sk-upstream');
        for (const path of ['/v1/responses', CHAT])
            assert.equal((await ask(daemon, REQUEST, { path, headers: bearer(KEY) })).status, 200);
        assert.deepEqual(up.requests.map(({ headers }) => headers.authorization), Array(2).fill('Bearer sk-upstream'));
    });

    test('gets the key of the client when the gateway asks for none', async (t) => {
        const { up, daemon } = await pair(t);
        for (const path of ['/v1/responses', CHAT])
            assert.equal((await ask(daemon, REQUEST, { path, headers: bearer('sk-mine') })).status, 200);
        assert.deepEqual(up.requests.map(({ headers }) => headers.authorization), Array(2).fill('Bearer sk-mine'));
    });
});

describe('a file of keys', { concurrency: false }, () => {
    test('lets in who has one of them, and names them in the log', async (t) => {
        const file = keysFile(t, '# clients\n', lineOf('alice', KEY), lineOf('alice', SECOND), '\n', lineOf('bob', 'sk-bob'));
        const { daemon } = await pair(t, '--api-keys-file', file, '--api-key', 'sk-nameless', '--log-level', 'debug');
        const owners = [[KEY, 'alice'], [SECOND, 'alice'], ['sk-bob', 'bob'], ['sk-nameless', undefined]];
        for (const [key, owner] of owners) {
            for (const path of ['/v1/responses', CHAT]) {
                const id = `req_${key}_${path.length}`;
                const got = await ask(daemon, REQUEST, { path, headers: { ...bearer(key), 'x-request-id': id } });
                assert.equal(got.status, 200, got.text);
                const [line] = await daemon.logged(new RegExp(`.* (turn|request) .*request_id=${id}.*`));
                assert.equal(line.match(/owner=(\S+)/)?.[1], owner, line);
            }
        }
        checkError(await ask(daemon, REQUEST, { headers: bearer('alice') }), 401);
        checkError(await ask(daemon, REQUEST, { headers: bearer(lineOf('alice', KEY).split(' ')[1].trim()) }), 401);
    });

    test('keeps keys out of what other users of the machine can see', async (t) => {
        const file = keysFile(t, lineOf('alice', KEY));
        const { daemon } = await pair(t, '--api-keys-file', file);
        assert.equal((await ask(daemon, REQUEST, { headers: bearer(KEY) })).status, 200);
        for (const seen of ['cmdline', 'environ'])
            assert.ok(!readFileSync(`/proc/${daemon.child.pid}/${seen}`, 'latin1').includes(KEY));
        assert.ok(!readFileSync(file, 'utf8').includes(KEY));
    });

    test('is checked before the start, line by line, without showing it', (t) => {
        const file = keysFile(t, '# clients\n', `alice ${KEY}\n`, lineOf('bob', 'sk-bob'), lineOf('carol', 'sk-bob'));
        for (const check of [['--check-config'], []]) {
            const got = spawnSync(BINARY, ['serve', ...check, '--api-keys-file', file, '--workers', 'x'],
                { encoding: 'utf8', timeout: patience(10_000), env: ENVIRONMENT });
            assert.deepEqual([got.status, got.stdout], [2, '']);
            const [workers, line, twice, count] = got.stderr.trimEnd().split('\n');
            assert.match(workers, /--workers: "x" is not valid/);
            assert.equal(line, `antiphon: ${file}: line 2: must be a name and the SHA-256 of a key, 64 hexadecimal digits; \`antiphon key NAME\` makes such lines`);
            assert.equal(twice, `antiphon: ${file}: line 4: the same key is in line 3; remove one`);
            assert.equal(count, 'antiphon: 3 errors, 0 warnings');
            assert.ok(!got.stderr.includes(KEY));
        }
    });

    test('and its keys stay out of what --check-config prints', (t) => {
        const file = keysFile(t, lineOf('alice', KEY));
        const got = spawnSync(BINARY, ['serve', '--check-config', '--api-keys-file', file],
            { encoding: 'utf8', timeout: patience(10_000), env: { ...ENVIRONMENT, ANTIPHON_API_KEY: SECOND } });
        assert.deepEqual([got.status, got.stderr], [0, '']);
        assert.match(got.stdout, /\/\/ "api_key": "\*\*\*", \/\/ variable ANTIPHON_API_KEY/);
        assert.ok(got.stdout.includes(`"api_keys_file": "${file}"`));
        for (const secret of [SECOND, KEY, lineOf('alice', KEY).trim()])
            assert.ok(!got.stdout.includes(secret));
    });
});

describe('antiphon key', () => {
    test('makes a key and the line by which it is let in', async (t) => {
        const { status, stdout } = keyCommand(['alice']);
        const [key, line] = [...stdout.matchAll(/^ {4}(.*)$/gm)].map(([, text]) => text);
        assert.equal(status, 0);
        assert.match(key, /^sk-antiphon-[0-9A-Za-z]{32}$/);
        assert.equal(`${line}\n`, lineOf('alice', key));
        const daemon = await startDaemon({ args: ['--api-keys-file', keysFile(t, `${line}\n`)] });
        t.after(() => daemon.stop());
        assert.equal((await get(daemon, '/v1/models', { headers: bearer(key) })).status, 200);
        assert.equal((await get(daemon, '/v1/models', { headers: bearer(`${key}x`) })).status, 401);
    });

    test('makes one without a name for the environment, another each time', async (t) => {
        const made = [1, 2].map(() => keyCommand([]).stdout.match(/^ {4}(sk-antiphon-\w{32})$/m)[1]);
        assert.notEqual(made[0], made[1]);
        const daemon = await startDaemon({ env: { ANTIPHON_API_KEY: made[0] } });
        t.after(() => daemon.stop());
        assert.equal((await get(daemon, '/v1/models', { headers: bearer(made[0]) })).status, 200);
        assert.equal((await get(daemon, '/v1/models', { headers: bearer(made[1]) })).status, 401);
    });

    test('reads a key with or without a line end', () => {
        for (const input of ['k', 'k\n', 'k\r\n', ' k \n'])
            assert.deepEqual(keyCommand(['hash', 'a'], input).stdout, lineOf('a', 'k'));
    });

    test('has help', () => {
        for (const flag of ['--help', '-h']) {
            const { status, stdout, stderr } = keyCommand([flag]);
            assert.deepEqual([status, stderr], [0, '']);
            assert.match(stdout, /^ {2}antiphon key \[NAME \[--models NAMES\] .*$[^]*^ {2}antiphon key hash NAME \[settings\]$/m);
        }
    });

    test('says how it is used', () => {
        for (const [args, input, message] of [
            [['hash'], '', /usage: antiphon key/],
            [['a', 'b'], '', /behind the name only settings may stand/],
            [['hash', 'a', 'b'], '', /behind the name only settings may stand/],
            [['--hepl'], '', /usage: antiphon key/],
            [['#a'], '', /a name has up to 64/],
            [['x'.repeat(65)], '', /a name has up to 64/],
            [['hash', 'a b'], 'k\n', /a name has up to 64/],
            [['hash', 'a'], '', /standard input must hold a key/],
            [['hash', 'a'], 'two words\n', /standard input must hold a key/],
        ]) {
            const { status, stdout, stderr } = keyCommand(args, input);
            assert.deepEqual([status, stdout], [2, ''], args);
            assert.match(stderr, message);
        }
    });
});

captures.judge(test);
