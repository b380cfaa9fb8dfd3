/* browser.test.mjs -- what a web page can make a real browser do to a gateway without keys:
 * nothing is run and nothing is read, but by pages that may.
 *
 * The model calls a tool of an MCP server at once, so that whatever reaches it would show
 * there. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import test, { after, before, beforeEach, describe } from 'node:test';
import { NO_BROWSER, startBrowser } from '../lib/browser.mjs';
import { ask } from '../lib/client.mjs';
import { startDaemon } from '../lib/daemon.mjs';
import { sharedGateway, shown } from '../lib/mcp.mjs';
import { startMcp } from '../lib/mcp_server.mjs';
import { callStream, startUpstream, textStream } from '../lib/upstream.mjs';

const SECRET = 'walrus';
const GOOD = 'chat.example.org';

/* Everything that a page can try, one after the other. Gives what it could read. Within the
 * page: it sees its arguments alone. */
async function attack(target, id) {
    const chat = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'Go' }] }), body = JSON.stringify({ model: 'm', input: 'Go' });
    const read = [], pause = (ms) => new Promise((done) => setTimeout(done, ms));
    const load = (element, where = document.documentElement) => new Promise((done) => {
        element.onload = element.onerror = () => done();
        where.append(element);
    });
    const tries = {
        'plain text': () => fetch(`${target}/v1/chat/completions`, { method: 'POST', body: chat, headers: { 'content-type': 'text/plain' } }),
        'plain text, blind': () => fetch(`${target}/v1/chat/completions`, { method: 'POST', mode: 'no-cors', body: chat }),
        'no type, blind': () => fetch(`${target}/v1/responses`, { method: 'POST', mode: 'no-cors', body: new Blob([body]) }),
        'a form, blind': () => fetch(`${target}/v1/responses`, { method: 'POST', mode: 'no-cors', body: new URLSearchParams(body) }),
        'a form with a file, blind': () => {
            const form = new FormData();
            form.append('a', new Blob([body]));
            return fetch(`${target}/v1/responses`, { method: 'POST', mode: 'no-cors', body: form });
        },
        'JSON': () => fetch(`${target}/v1/responses`, { method: 'POST', body, headers: { 'content-type': 'application/json' } }),
        'JSON of another name': () => fetch(`${target}/v1/responses`, { method: 'POST', body, headers: { 'content-type': 'application/vnd.x+json' } }),
        'JSON within its origin': () => fetch(`${target}/v1/responses`, { method: 'POST', mode: 'same-origin', body, headers: { 'content-type': 'application/json' }, referrerPolicy: 'no-referrer' }),
        'JSON without a referrer': () => fetch(`${target}/v1/responses`, { method: 'POST', body, headers: { 'content-type': 'application/json' }, referrerPolicy: 'no-referrer' }),
        'models': () => fetch(`${target}/v1/models`),
        'servers': () => fetch(`${target}/v1/mcp/servers`),
        'a response': () => fetch(`${target}/v1/responses/${id}`),
        'a response, blind': () => fetch(`${target}/v1/responses/${id}`, { mode: 'no-cors' }),
        'deletion': () => fetch(`${target}/v1/responses/${id}`, { method: 'DELETE' }),
        'another name of the machine': () => fetch(`${target.replace('127.0.0.1', 'localhost')}/v1/responses`, { method: 'POST', mode: 'no-cors', body: new Blob([body]) }),
        'XMLHttpRequest': () => new Promise((done) => {
            const x = new XMLHttpRequest();
            x.onloadend = () => done(x.responseText);
            x.open('POST', `${target}/v1/chat/completions`);
            x.setRequestHeader('content-type', 'text/plain');
            x.send(chat);
        }),
        'a beacon': async () => {
            for (const what of [chat, new Blob([chat]), new Blob([chat], { type: 'text/plain' }), new URLSearchParams('a=b')])
                navigator.sendBeacon(`${target}/v1/chat/completions`, what);
            for (let i = 0; i < 500 && performance.getEntriesByType('resource').filter((e) => e.initiatorType === 'beacon').length < 4; i++)
                await pause(10);
        },
        'forms': async () => {
            for (const enctype of ['text/plain', 'multipart/form-data', 'application/x-www-form-urlencoded']) {
                const frame = document.createElement('iframe'), form = document.createElement('form'), input = document.createElement('input');
                frame.name = `to-${enctype}`;
                document.documentElement.append(frame, form);
                Object.assign(input, { name: chat.slice(0, -1), value: '}' }); /* name=value is JSON, nearly */
                Object.assign(form, { method: 'POST', enctype, action: `${target}/v1/chat/completions`, target: frame.name });
                form.append(input);
                const loaded = new Promise((done) => (frame.onload = done));
                form.submit();
                await loaded;
                try {
                    read.push(`form: ${frame.contentDocument?.body?.innerText}`);
                } catch { /* another origin's */ }
            }
        },
        'frames': async () => {
            for (const sandbox of [undefined, 'allow-scripts']) {
                const frame = document.createElement('iframe');
                if (sandbox)
                    frame.sandbox = sandbox;
                frame.src = `${target}/v1/responses/${id}`;
                await load(frame);
                try {
                    read.push(`frame: ${frame.contentDocument?.body?.innerText}`);
                } catch { /* another origin's */ }
            }
        },
        'elements': async () => {
            for (const path of [`/v1/responses/${id}`, '/v1/models']) {
                for (const name of ['script', 'img', 'link']) {
                    const element = document.createElement(name);
                    Object.assign(element, name === 'link' ? { rel: 'stylesheet', href: target + path } : { src: target + path });
                    await load(element);
                }
            }
        },
        'events': () => new Promise((done) => {
            const events = new EventSource(`${target}/v1/responses/${id}?stream=true`);
            events.onmessage = ({ data }) => read.push(`event: ${data}`);
            events.onopen = () => read.push('events are open');
            events.onerror = () => (events.close(), done());
        }),
        'a WebSocket': () => new Promise((done) => {
            const socket = new WebSocket(`${target.replace('http', 'ws')}/v1/responses`);
            socket.onopen = () => read.push('a WebSocket is open');
            socket.onmessage = ({ data }) => read.push(`message: ${data}`);
            socket.onclose = () => done();
        }),
    };
    for (const [what, attempt] of Object.entries(tries)) {
        try {
            const got = await attempt();
            if (got instanceof Response && got.type !== 'opaque' && got.status !== 403)
                read.push(`${what}: ${got.status} ${await got.text()}`);
            else if (got instanceof Response && got.type !== 'opaque')
                read.push(`refused: ${await got.text()}`);
            else if (typeof got === 'string' && got !== '')
                read.push(`${what}: ${got}`);
        } catch { /* the browser does not let it */ }
    }
    return read;
}

/* A page may see that it was refused, if it seems to be ours, and nothing else. */
const told = (read) => read.filter((one) => !/"code":"origin_not_allowed"/.test(one) && !/: (null|undefined|)$/.test(one));

/* A page and nothing else, on a port of its own; or a proxy that passes everything but Host on. */
async function startPages(t, upstream) {
    const server = http.createServer((req, res) => {
        if (upstream === undefined || !req.url.startsWith('/v1')) {
            res.writeHead(200, { 'content-type': 'text/html' });
            res.end('<!doctype html><title>page</title><link rel=icon href="data:,">');
            return;
        }
        const { host, ...headers } = req.headers;
        req.pipe(http.request(upstream + req.url, { method: req.method, headers, agent: false }, (answer) => {
            res.writeHead(answer.statusCode, answer.headers);
            answer.pipe(res);
        }));
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    t.after(() => (server.closeAllConnections(), new Promise((done) => server.close(done))));
    return server.address().port;
}

/* What a page of ours does, and one that is listed. Within the page. */
async function talk(target) {
    const send = async (path, body) => {
        const got = await fetch(target + path, body && { method: 'POST', body: JSON.stringify(body), headers: { 'content-type': 'application/json' } });
        return [got.status, await got.text()];
    };
    return [await send('/v1/models'), await send('/v1/responses', { model: 'm', input: 'Go' })];
}

describe('a real browser', { concurrency: false, skip: NO_BROWSER }, () => {
    let browser;
    before(async () => {
        browser = await startBrowser({ 'evil.test': '127.0.0.1', [GOOD]: '127.0.0.1' });
    });
    after(() => browser?.close());

    const g = sharedGateway({ before, beforeEach, after }, { keep() {} }, async () => ({
        servers: { fake: await startMcp({ tools: { note: () => SECRET } }) },
        args: ['--mcp-inject', 'always', '--chat-tools', 'all'],
    }));

    /* The model calls the tool, and then repeats what it has said. */
    const greedy = (up) => up.always(({ body }) => (body?.messages?.at(-1).role === 'tool' ? textStream(SECRET) : callStream([shown('fake', 'note'), {}, 'c1'])));

    async function stored(daemon) {
        const got = await ask(daemon, { model: 'm', input: 'Go' });
        assert.ok(got.text.includes(SECRET));
        return got.json.id;
    }

    async function attacked(origin, target = g.daemon.origin) {
        greedy(g.up);
        const id = await stored(g.daemon);
        const before = [g.up.requests.length, g.options.servers.fake.calls.length];
        const page = await browser.open(origin);
        const read = await page.run(attack, target, id);
        assert.deepEqual(told(read), [], 'nothing is read');
        assert.deepEqual([g.up.requests.length, g.options.servers.fake.calls.length], before, 'nothing is run');
        assert.equal((await ask(g.daemon, undefined, { method: 'GET', path: `/v1/responses/${id}` })).status, 200, 'nothing is deleted');
        await g.daemon.logged(/ rejected reason=origin /);
    }

    test('gets nothing for a page of another port', async (t) => {
        await attacked(`http://127.0.0.1:${await startPages(t)}/`);
    });

    test('gets nothing for a page of another site', async (t) => {
        await attacked(`http://evil.test:${await startPages(t)}/`);
    });

    test('gets nothing for a name that was made to lead here', async () => {
        const own = `http://evil.test:${g.daemon.port}`;
        await attacked(`${own}/`, own);
        await attacked(`${own}/v1/responses`, own);
    });

    test('runs nothing for such a name on all addresses either', async (t) => {
        const up = await startUpstream();
        t.after(() => up.close());
        const daemon = await startDaemon({ exact: true, upstream: up.url, args: ['--listen', '0.0.0.0:0'] });
        t.after(() => daemon.stop());
        const own = `http://evil.test:${daemon.port}`;
        const page = await browser.open(`${own}/`);
        await page.run(attack, own, 'resp_x');
        assert.deepEqual(up.requests.filter(({ method }) => method === 'POST'), []);
        await daemon.logged(/ rejected reason=origin method=POST /);
    });

    const check = (answers) => {
        for (const [status, text] of answers)
            assert.equal(status, 200, text);
        assert.ok(answers[1][1].includes(SECRET));
    };

    test('lets a page of our own origin in', async () => {
        greedy(g.up);
        const page = await browser.open(`${g.daemon.origin}/health`);
        check(await page.run(talk, g.daemon.origin));
    });

    test('lets a page behind the same proxy in', async (t) => {
        greedy(g.up);
        const origin = `http://127.0.0.1:${await startPages(t, g.daemon.origin)}`;
        const page = await browser.open(`${origin}/`);
        check(await page.run(talk, origin));
    });

    test('lets a listed origin in, and no other', async (t) => {
        greedy(g.up);
        const port = await startPages(t);
        const daemon = await startDaemon({ upstream: g.up.url, args: ['--model', 'm', '--mcp-config', g.file, '--mcp-inject', 'always', '--cors-origins', `http://${GOOD}:${port}`] });
        t.after(() => daemon.stop());
        for (const deadline = performance.now() + 20_000; !(await ask(daemon, undefined, { method: 'GET', path: '/v1/mcp/servers' })).json.data[0].available && performance.now() < deadline;)
            await new Promise((done) => setTimeout(done, 20));
        const page = await browser.open(`http://${GOOD}:${port}/`);
        check(await page.run(talk, daemon.origin));
        const evil = await browser.open(`http://evil.test:${port}/`);
        await assert.rejects(evil.run(talk, daemon.origin));
    });

    test('follows a link to what shows nothing', async (t) => {
        const page = await browser.open(`http://evil.test:${await startPages(t)}/`);
        const seen = await page.run((url) => (setTimeout(() => (location = url)), url), `${g.daemon.origin}/health`);
        assert.equal(seen, `${g.daemon.origin}/health`);
        for (let i = 0; i < 500 && !/ok/.test(await page.run(() => document.body?.innerText ?? '').catch(() => '')); i++)
            await new Promise((done) => setTimeout(done, 10));
        assert.match(await page.run(() => document.body.innerText), /"status":"ok"/);
    });
});
