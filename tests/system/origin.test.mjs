/* origin.test.mjs -- what browsers send, as bytes: which pages and names get in, and what
 * others are told. browser.test.mjs asks a real one. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import test, { after, before, beforeEach, describe } from 'node:test';
import { Captures, checkError } from '../lib/check.mjs';
import { ask, get, raw } from '../lib/client.mjs';
import { pair, shared, startDaemon } from '../lib/daemon.mjs';
import { folder } from '../lib/folder.mjs';

const REQUEST = { model: 'm', input: 'Hi' };
const EVIL = 'https://evil.example', KEY = 'sk-a-key';
const NAVIGATION = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' };
const captures = new Captures();

/* Everything that is there. */
const paths = [
    ['POST', '/v1/responses'], ['POST', '/responses'], ['POST', '/v1/chat/completions'], ['POST', '/v1/embeddings'], ['POST', '/v1/conversations'],
    ['POST', '/v1/containers'], ['POST', '/v1/responses/resp_x/cancel'], ['DELETE', '/v1/responses/resp_x'], ['PUT', '/v1/files/x'],
    ['GET', '/v1/responses/resp_x'], ['GET', '/v1/models'], ['GET', '/v1/containers'], ['GET', '/v1/mcp/servers'], ['GET', '/nothing'],
    ['GET', '/health'], ['GET', '/'], ['HEAD', '/v1/models'], ['PURGE', '/v1/models'],
];

/* What tells of a page that must not. */
const pages = [
    ['another origin', (own) => ({ origin: EVIL, host: own })],
    ['another port', (own) => ({ origin: 'http://127.0.0.1:3000', host: own })],
    ['no origin that is shown', (own) => ({ origin: 'null', host: own })],
    ['another origin, as its browser says', (own) => ({ origin: EVIL, 'sec-fetch-site': 'cross-site', host: own })],
    ['another site, without an origin', (own) => ({ 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors', host: own })],
    ['another port, without an origin', (own) => ({ 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'no-cors', host: own })],
    ['a frame within a page of another site', (own) => ({ ...NAVIGATION, 'sec-fetch-dest': 'iframe', host: own })],
];

const send = (daemon, method, path, headers) => ask(daemon, ['POST', 'PUT'].includes(method) ? REQUEST : undefined, { method, path, headers });

for (const [what, args, key] of [['without keys', []], ['with keys', ['--api-key', KEY], KEY]]) {
    describe(what, { concurrency: false }, () => {
        const both = shared({ before, beforeEach, after }, '--relay', 'all', ...args);
        const own = () => `127.0.0.1:${both.daemon.port}`;
        const keyed = (headers) => ({ ...(key && { authorization: `Bearer ${key}` }), ...headers });

        for (const [page, headers] of pages)
            test(`a page of ${page} gets nothing`, async () => {
                for (const [method, path] of paths) {
                    const got = await send(both.daemon, method, path, keyed(headers(own())));
                    assert.equal(got.status, 403, `${method} ${path}`);
                    for (const name of Object.keys(got.headers))
                        assert.doesNotMatch(name, /^access-control-/);
                    if (method === 'HEAD')
                        continue;
                    const error = checkError(got, 403, 'origin_not_allowed', null);
                    assert.equal(error.type, 'permission_error');
                    assert.match(error.message, /cors_origins/);
                    captures.keep('refused.json', got.bytes, '--kind', 'error');
                }
                assert.equal(both.up.requests.length, 0);
            });

        test('the body of a refused request is not waited for', async () => {
            const bytes = await raw(both.daemon, `POST /v1/responses HTTP/1.1\r\nHost: ${own()}\r\nOrigin: ${EVIL}\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{`);
            assert.match(bytes.toString(), /^HTTP\/1\.1 403 /);
        });

        test('a link may lead to what shows nothing, in a window of its own', async () => {
            for (const path of ['/', '/health'])
                assert.equal((await get(both.daemon, path, { headers: keyed(NAVIGATION) })).status, 200);
            checkError(await get(both.daemon, '/v1/models', { headers: keyed(NAVIGATION) }), 403, 'origin_not_allowed');
        });

        test('programs, own pages and typed addresses notice nothing', async () => {
            for (const headers of [{}, { 'sec-fetch-mode': 'cors' } /* fetch() of Node */, { origin: both.daemon.origin }, { origin: both.daemon.origin, 'sec-fetch-site': 'same-origin' },
                { origin: 'http://localhost:5173', 'sec-fetch-site': 'same-origin' } /* through a development server */, { origin: 'vscode-webview://1a' }, { origin: 'tauri://localhost', 'sec-fetch-site': 'cross-site' },
                { 'sec-fetch-site': 'none', 'sec-fetch-mode': 'navigate' }])
                for (const [method, path] of [['POST', '/v1/responses'], ['GET', '/v1/models']])
                    assert.equal((await send(both.daemon, method, path, keyed(headers))).status, 200, JSON.stringify(headers));
        });

        test('addresses and names that no page can have lead here', async () => {
            for (const host of ['localhost', 'localhost:9', 'a.localhost', '127.1.2.3:80', '[::1]:8080', '192.168.1.5', 'antiphon', 'a_backend:80', 'host.docker.internal:8080', 'gw.svc.cluster.local', ''])
                assert.equal((await send(both.daemon, 'POST', '/v1/responses', keyed({ host }))).status, 200, host);
            assert.match((await raw(both.daemon, `GET /health HTTP/1.0\r\n\r\n`)).toString(), /^HTTP\/1\.1 200 /);
        });

        test(`other names do ${key ? 'as well' : 'not'}`, async () => {
            for (const host of ['evil.test', `evil.example:${both.daemon.port}`, 'localhost.evil.example', '127.0.0.1.evil.example', 'evil.example.']) {
                for (const [method, path] of paths) {
                    const got = await send(both.daemon, method, path, keyed({ host }));
                    if (key)
                        assert.notEqual(got.status, 403);
                    else if (method === 'HEAD')
                        assert.equal(got.status, 403);
                    else
                        assert.match(checkError(got, 403, 'origin_not_allowed').message, /host_names/);
                }
            }
            if (!key)
                assert.equal(both.up.requests.length, 0);
        });

        test('the log names who was refused, and no header', async () => {
            await new Promise((done) => setTimeout(done, 1100)); /* ten are told in a second, which others may have used up */
            await send(both.daemon, 'POST', '/v1/responses', keyed({ origin: EVIL, 'x-request-id': 'req_a_page' }));
            const [line] = await both.daemon.logged(/.* rejected .*request_id=req_a_page.*/);
            assert.match(line, /info rejected reason=origin method=POST path=\/v1\/responses client=127\.0\.0\.1 /);
            assert.ok(!both.daemon.log.includes('evil.example'));
        });
    });
}

test('listed origins may, of whatever scheme', async (t) => {
    const { up, daemon } = await pair(t, '--cors-origins', 'https://chat.example.org,null,vscode-webview://mine');
    for (const origin of ['https://chat.example.org', 'null', 'vscode-webview://mine'])
        assert.equal((await ask(daemon, REQUEST, { headers: { origin, 'sec-fetch-site': 'cross-site' } })).headers['access-control-allow-origin'], origin);
    checkError(await ask(daemon, REQUEST, { headers: { origin: EVIL } }), 403, 'origin_not_allowed');
    assert.equal(up.requests.length, 3);
});

test('with every origin listed nothing is refused', async (t) => {
    const { daemon } = await pair(t, '--cors-origins', '*');
    for (const headers of [{ origin: EVIL, 'sec-fetch-site': 'cross-site' }, { 'sec-fetch-site': 'cross-site' }, { origin: 'null' }, { host: 'evil.test' }])
        assert.equal((await ask(daemon, REQUEST, { headers })).status, 200);
});

test('configured names lead here', async (t) => {
    const { daemon } = await pair(t, '--host-names', 'ai.example.com,*.gw.example.com');
    for (const host of ['ai.example.com', 'AI.example.com:8080', 'eu.gw.example.com', 'localhost'])
        assert.equal((await ask(daemon, REQUEST, { headers: { host } })).status, 200, host);
    for (const host of ['gw.example.com', 'xai.example.com', 'evil.test'])
        checkError(await ask(daemon, REQUEST, { headers: { host } }), 403, 'origin_not_allowed');
});

describe('on all addresses', { concurrency: false }, () => {
    const open = (t, ...args) => startDaemon({ exact: true, args: ['--listen', '0.0.0.0:0', ...args] }).then((daemon) => {
        t.after(() => daemon.stop());
        daemon.origin = `http://127.0.0.1:${daemon.port}`;
        return daemon;
    });

    test('every name leads here, unless a page says that it is its own', async (t) => {
        const daemon = await open(t);
        for (const headers of [{ host: 'ai.example.com' }, { host: 'gateway' }, { host: 'gateway:8080', origin: 'http://gateway:8080' }, { host: 'nas.lan', origin: 'http://nas.lan' },
            { host: 'ai.example.com', origin: 'https://ai.example.com' }])
            assert.equal((await ask(daemon, REQUEST, { headers })).status, 200, JSON.stringify(headers));
        assert.match(checkError(await ask(daemon, REQUEST, { headers: { host: 'evil.test:8080', origin: 'http://evil.test:8080' } }), 403, 'origin_not_allowed').message, /host_names/);
    });

    test('with names given, no others do', async (t) => {
        const daemon = await open(t, '--host-names', 'ai.example.com');
        assert.equal((await ask(daemon, REQUEST, { headers: { host: 'ai.example.com', origin: 'http://ai.example.com' } })).status, 200);
        checkError(await ask(daemon, REQUEST, { headers: { host: 'evil.test' } }), 403, 'origin_not_allowed');
    });
});

test('a Unix socket takes every name, and no page of another site', async (t) => {
    const path = folder(t, 'a.sock');
    const daemon = await startDaemon({ args: ['--listen', `unix:${path}`] });
    t.after(() => daemon.stop());
    const over = async (headers) => {
        const request = http.request({ socketPath: path, agent: false, path: '/v1/models', headers });
        const [answer] = await once(request.end(), 'response');
        answer.resume();
        return answer.statusCode;
    };
    assert.equal(await over({ host: 'ai.example.com' }), 200);
    assert.equal(await over({ host: 'ai.example.com', origin: EVIL }), 403);
});

captures.judge(test);
