/* state.mjs -- stored responses and conversations, as one client uses them.
 *
 *     const api = new Api(both, captures);      // both.daemon: the gateway, see daemon.mjs
 *     const first = await api.respond({ input: 'Hi' });
 *     const same = await api.read(`responses/${first.id}`);
 *     await api.refused('GET', 'responses/resp_x', undefined, [404, 'not_found']);
 *
 * Paths are those below /v1, unless they begin with a slash. Every answer is kept for the validator. Behind the
 * class: what the upstream is to have been asked, in short forms.
 */
import assert from 'node:assert/strict';
import { checkError, checkStream } from './check.mjs';
import { ask } from './client.mjs';
import { patience } from './patience.mjs';

/* The one line of a stream that ends it, with the response as it was written. */
const TERMINAL = /^data: \{"type":"response\.(?:completed|incomplete|failed)","sequence_number":\d+,"response":(.*)\}$/m;

const HOSTED = /"(mcp|web_search_preview|code_interpreter)"/;
const DATED = /"web_search\w*_2025/;
const OF_OPENAI = /"tool_search_(call|output)"/; /* items that no other schema has */

/* What the validator has to be told: kinds it cannot guess, and that the schema of Open
 * Responses knows no hosted tool in tool_choice, and none by a name with a date. */
function judgedAs(path, body, { status, text }) {
    const kind = status !== 200 ? undefined : path.match(/^mcp\/servers(\/[^/]+\/tools)?$/);
    if (kind)
        return ['--kind', kind[1] ? 'mcp-tools' : 'mcp-servers'];
    if (/"tool_search"/.test(JSON.stringify(body?.tool_choice ?? '')))
        return ['--schema', 'none']; /* a choice that no schema has */
    if (OF_OPENAI.test(text))
        return ['--schema', 'openai'];
    return HOSTED.test(JSON.stringify(body?.tool_choice ?? '')) || DATED.test(JSON.stringify(body?.tools ?? '')) ? ['--schema', 'gateway,openai'] : [];
}

export class Api {
    #both;
    #captures;
    #headers;

    constructor(both, captures, key) {
        this.#both = both;
        this.#captures = captures;
        this.#headers = key === undefined ? {} : { authorization: `Bearer ${key}` };
    }

    /* Any answer. */
    async call(method, path, body) {
        const got = await this.#ask(method, path, body);
        this.#captures.keep(`${method} ${path}.${body?.stream && got.status === 200 ? 'sse' : 'json'}`, asKept(got), ...judgedAs(path, body, got));
        return got;
    }

    #ask(method, path, body) {
        return ask(this.#both.daemon, body, { method, path: path.startsWith('/') ? path : `/v1/${path}`, headers: this.#headers });
    }

    get(path) {
        return this.call('GET', path);
    }

    post(path, body) {
        return this.call('POST', path, body);
    }

    delete(path) {
        return this.call('DELETE', path);
    }

    /* What one reads, or makes, where it works. */
    async read(path) {
        return well(await this.get(path)).json;
    }

    async make(path, body) {
        return well(await this.post(path, body)).json;
    }

    async remove(path) {
        return well(await this.delete(path)).json;
    }

    /* A response, and one from a stream: what checkStream() gives, and its bytes. */
    async respond(more) {
        return (await this.answer(more)).json;
    }

    async answer(more) {
        return well(await this.post('responses', { model: 'm', input: 'Hi', ...more }));
    }

    async stream(more) {
        const got = await this.answer({ ...more, stream: true });
        return { ...checkStream(got.text), written: writtenIn(got.text) };
    }

    /* The elements of a list that has no more of them. */
    async list(path) {
        const { object, data, has_more } = await this.read(path);
        assert.deepEqual([object, has_more], ['list', false]);
        return data;
    }

    /* A list, page by page; the path has a query. */
    async pages(path) {
        const pages = [];
        for (let page = await this.read(path); ; page = await this.read(`${path}&after=${page.last_id}`)) {
            pages.push(page.data);
            if (!page.has_more)
                return pages;
            assert.ok(pages.length < 100, 'pages come to an end');
        }
    }

    /* Insists on an error [status, code, param] and gives it. */
    async refused(method, path, body, [status, code, param]) {
        return checkError(await this.call(method, path, body), status, code, param);
    }

    /* A request for a response that is refused before the upstream is asked. */
    async turnedAway(more, error) {
        const before = this.#both.up.requests.length;
        const found = await this.refused('POST', 'responses', { model: 'm', input: 'Hi', ...more }, error);
        assert.equal(this.#both.up.requests.length, before, 'the upstream was not asked');
        return found;
    }

    /* Asks until the answer has this status. */
    async until(status, method, path, body, ms = 60_000) {
        for (const deadline = performance.now() + patience(ms); ;) {
            const got = await this.#ask(method, path, body);
            if (got.status === status)
                return got;
            assert.ok(performance.now() < deadline, `${method} ${path} never became ${status}: ${got.status} ${got.text}`);
            await pause(50);
        }
    }
}

const pause = (ms) => new Promise((done) => setTimeout(done, ms));

/* Until the clock shows a later second than this response was made in: what is
 * used within one second counts as equally old. */
export async function nextSecond({ created_at }) {
    while (Date.now() < (created_at + 1) * 1000)
        await pause(20);
}

function well(got) {
    assert.equal(got.status, 200, got.text);
    return got;
}

/* The validator has no kind for an item alone: it sees a list of that one. */
function asKept(got) {
    if (got.status !== 200 || !got.headers['content-type'].startsWith('application/json') || got.json.object !== undefined || got.json.id === undefined)
        return got.bytes;
    return JSON.stringify({ object: 'list', data: [got.json], first_id: got.json.id, last_id: got.json.id, has_more: false });
}

/* The response of a stream's terminal event, byte by byte. */
export const writtenIn = (text) => text.match(TERMINAL)?.[1] ?? assert.fail(`no terminal event in:\n${text.slice(-2000)}`);

/* The id in a stream that has not ended. */
export const idIn = (text) => text.match(/"response":\{"id":"(resp_\w+)"/)[1];

/* An id of the same kind and length that nobody has. */
export const strange = (id) => id.slice(0, -4) + (id.endsWith('0000') ? '1111' : '0000');

/* ---- errors, as [status, code, param] ---- */

export const NO_PARENT = [400, 'previous_response_not_found', 'previous_response_id'];
export const NO_CONVERSATION = [404, 'not_found', 'conversation'];
export const NO_ITEM = [404, 'not_found', 'input'];
export const NOT_FOUND = [404, 'not_found'];

/* ---- what the upstream is asked ---- */

export const messagesOf = (up) => up.requests.at(-1).body.messages;

export const user = (content) => ({ role: 'user', content });
export const system = (content) => ({ role: 'system', content });
export const assistant = (content, more = {}) => ({ role: 'assistant', content, ...more });
export const toolResult = (tool_call_id, content) => ({ role: 'tool', tool_call_id, content });

/* An assistant message that calls tools: [id, name, arguments object]. */
export const calling = (...calls) => assistant(null, {
    tool_calls: calls.map(([id, name, args]) => ({ id, type: 'function', function: { name, arguments: JSON.stringify(args) } })),
});

/* ---- items ---- */

export const fn = (name) => ({ type: 'function', name, parameters: { type: 'object', properties: {} } });
export const output = (call_id, text) => ({ type: 'function_call_output', call_id, output: text });
export const reference = (id) => ({ type: 'item_reference', id });
export const textOf = (item) => item.content.map((part) => part.text).join('');
