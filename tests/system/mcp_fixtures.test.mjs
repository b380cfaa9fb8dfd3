/* mcp_fixtures.test.mjs -- the contract's streams of MCP tools, played through the daemon.
 *
 * For each there is what the model says, round by round, and what the tools answer. What comes
 * out is the stream of the contract, event by event: types, numbers, items and their states,
 * texts, usage. Ids are compared by where they come back, and only what is an example is left
 * out: times, URLs and the words of a listing that fails. */
import assert from 'node:assert/strict';
import test, { describe } from 'node:test';
import { Captures, checkStream } from '../lib/check.mjs';
import { open } from '../lib/client.mjs';
import { bytesOf, namesIn } from '../lib/data.mjs';
import { declared, gateway, shown } from '../lib/mcp.mjs';
import { failed, http, rpcError, startMcp } from '../lib/mcp_server.mjs';
import { chunk, frames, stream } from '../lib/upstream.mjs';

const captures = new Captures();

/* ---- what the model says ---- */

const text = (...pieces) => pieces.map((content) => ({ content }));
const thought = (...pieces) => pieces.map((reasoning_content) => ({ reasoning_content }));
const call = (index, name, ...pieces) => pieces.map((args, i) => ({
    tool_calls: [{ index, ...(i === 0 && { id: `call_${index}`, type: 'function' }), function: { ...(i === 0 && { name }), arguments: args } }],
}));
const search = (index, ...pieces) => call(index, shown('docs', 'search'), ...pieces);

const round = (finish, usage, ...deltas) => stream(frames(
    ...deltas.flat().map((delta) => chunk(delta)), chunk({}, finish), ...(usage === undefined ? [] : [{ ...chunk({}), choices: [], usage }]), '[DONE]'));
const calls = (usage, ...deltas) => round('tool_calls', usage, ...deltas);
const says = (usage, ...deltas) => round('stop', usage, ...deltas);

const spent = (prompt_tokens, completion_tokens, cached_tokens = 0, reasoning_tokens = 0) => ({
    prompt_tokens, completion_tokens, prompt_tokens_details: { cached_tokens }, completion_tokens_details: { reasoning_tokens },
});
const [FIRST, SECOND] = [spent(100, 15), spent(200, 5)]; /* together what most of them have used */

/* ---- what the servers have ---- */

const WEATHER = {
    type: 'function', name: 'get_weather', description: 'Weather for a city',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
};

/* The tools of the contract's server; search answers what the scenario says. */
const toolsOf = (answer) => ({
    search: {
        description: 'Search the docs', annotations: { readOnlyHint: true },
        inputSchema: { type: 'object', properties: { q: { type: 'string' } } }, call: ({ q }) => answer(q),
    },
    fetch: { inputSchema: { type: 'object' }, call: ({ id }) => `text of ${id}` },
});

/* ---- the streams ---- */

/* rounds: what the model says. answer: of the tool search. more: of the request; with
 * `approve`, what the call asks for is allowed and the stream is that of the next request. */
const SCENARIOS = {
    mcp_call: {
        rounds: [calls(spent(120, 20), search(0, '{"q":', '"migration"}')), says(spent(200, 25, 128), text('See the migration', ' notes.'))],
        answer: () => '[{"title":"Migration notes"}]',
    },
    mcp_call_configured_server: {
        rounds: [calls(FIRST, search(0, '{"q":"x"}')), says(SECOND, text('Nothing found.'))],
        answer: () => '', configured: true,
    },
    mcp_call_failed: {
        rounds: [calls(FIRST, search(0, '{"q":"x"}')), says(SECOND, text('The search did not answer.'))],
        answer: () => failed('tools/call timeout after 60s'),
    },
    mcp_call_failed_object: {
        rounds: [calls(FIRST, search(0, '{"q":"x"}')), says(SECOND, text('The search failed.'))],
        answer() {
            throw rpcError(-32602, 'Invalid params');
        },
        object: true,
    },
    mcp_call_incomplete: { rounds: [round('length', spent(300, 16), search(0, '{"q":"x'))] },
    mcp_list_tools_failed: { rounds: [], fails: true },
    mcp_approval_request: { rounds: [calls(spent(300, 20), search(0, '{"q":"x"}'))], more: { require_approval: 'always' } },
    mcp_approved_call: {
        rounds: [calls(undefined, search(0, '{"q":"x"}')), says(spent(300, 20), text('Found it.'))],
        answer: () => 'found', more: { require_approval: 'always' }, approve: true,
    },
    mcp_parallel_then_text: {
        rounds: [
            calls(spent(300, 50, 100, 6), thought('Two searches.'), search(0, '{"q":"a"}'), search(1, '{"q":"b"}')),
            says(spent(400, 30, 200, 6), thought('Both found.'), text('Both found.')),
        ],
        async answer(q, seen) {
            if (q === 'a')
                await seen('b found');
            return `${q} found`;
        },
    },
    mcp_and_function_call: {
        rounds: [calls(spent(300, 40), search(0, '{"q":"a"}'), call(1, 'get_weather', '{"city":"Oslo"}'))],
        async answer(q, seen) {
            await seen('"type":"function_call","status":"completed"');
            return `${q} found`;
        },
        tools: [WEATHER],
    },
    tool_loop_three_turns: {
        rounds: [
            calls(spent(200, 20), text('Searching.'), search(0, '{"q":"a"}')),
            calls(spent(300, 20, 200), call(0, shown('docs', 'fetch'), '{"id":7}')),
            says(spent(400, 30, 300), text('Document 7 says hello.')),
        ],
        answer: () => 'id 7',
    },
    incomplete_tool_limit: {
        rounds: [calls(spent(100, 20), search(0, '{"q":"a"}')), calls(undefined, search(0, '{"q":"b"}'))],
        answer: () => 'one', request: { max_tool_calls: 1 },
        onlyTool: { description: 'Search', inputSchema: { type: 'object', properties: {} } },
    },
};

/* ---- what is compared ---- */

const ID = /^(id|item_id|call_id|approval_request_id|previous_response_id)$/;
const LISTING_FAILED = /^Error retrieving tool list from MCP server: 'docs'\./;
const OF_RESPONSE = ['id', 'status', 'error', 'incomplete_details', 'output', 'usage', 'max_tool_calls', 'previous_response_id'];

/* Without what a response only repeats of its request. */
const essence = (response) => ({
    ...Object.fromEntries(OF_RESPONSE.map((name) => [name, response[name]])),
    tools: response.tools.map(({ type, server_label, name }) => [type, server_label ?? name]),
});

/* What the gateway adds to the annotations of a tool (MCP 11.7) is not in these streams. */
function withoutReadOnly({ read_only: _added, ...own }) {
    return Object.keys(own).length > 0 ? own : undefined;
}

/* Each id becomes its kind and a number, in the order in which they come up. */
function shapeOf(events) {
    const names = new Map();
    const nameOf = (id) => {
        names.set(id, names.get(id) ?? `${id.replace(/_.*/, '')} ${names.size}`);
        return names.get(id);
    };
    return JSON.parse(JSON.stringify(events, (key, value) => {
        if (key === 'response')
            return essence(value);
        if (key === 'annotations' && value.read_only !== undefined)
            return withoutReadOnly(value);
        if (typeof value !== 'string')
            return value;
        return ID.test(key) ? nameOf(value) : LISTING_FAILED.test(value) ? 'listing failed' : value;
    }));
}

/* Why a listing failed and which parameter asked for it is not the contract's to say. */
const withoutWords = (shapes) => JSON.parse(JSON.stringify(shapes, (key, value) => {
    if (key === 'param')
        return null;
    return key === 'error' && typeof value === 'string' ? 'words' : value;
}));

/* ---- playing ---- */

class Play {
    constructor(name, scenario, captures) {
        Object.assign(this, { name, scenario, captures });
    }

    async start(t) {
        const { answer, onlyTool, configured, object, fails } = this.scenario;
        const answering = (q) => answer(q, (what) => this.exchange?.until(what));
        const tools = onlyTool ? { search: { ...onlyTool, call: ({ q }) => answering(q) } } : toolsOf(answering);
        this.server = await startMcp({ tools, style: { get: 405 } });
        t.after(() => this.server.close());
        if (fails)
            this.server.on('tools/list', () => http(500, 'No list.'));
        this.g = await gateway(t, {
            servers: configured ? { docs: this.server } : {}, captures: this.captures,
            args: ['--mcp-remote', 'any', '--interleaved-calls', ...(object ? ['--mcp-errors', 'object'] : [])],
        });
        return this;
    }

    /* The request whose answer is looked at. */
    async #request() {
        const { rounds, configured, more, approve, request, tools = [] } = this.scenario;
        const server = configured ? {} : { server_url: this.server.url, require_approval: 'never', ...more };
        const ask = { model: 'm', input: 'Hi', tools: [declared('docs', server), ...tools], ...request };
        this.g.up.reset();
        this.g.up.next(...rounds);
        if (!approve)
            return ask;
        const { id, output } = await this.g.respond(ask);
        return { ...ask, previous_response_id: id, input: [{ type: 'mcp_approval_response', approval_request_id: output.at(-1).id, approve: true }] };
    }

    async streamed() {
        this.exchange = open(this.g.daemon, { ...await this.#request(), stream: true });
        const { status, bytes, text } = await this.exchange.done;
        assert.equal(status, 200, text);
        this.captures.keep(`${this.name}.sse`, bytes);
        this.exchange = undefined;
        return checkStream(text, { interleaved: true }).events;
    }

    async whole() {
        return this.g.respond(await this.#request());
    }
}

describe('the daemon says what the contract shows', () => {
    for (const [name, scenario] of Object.entries(SCENARIOS)) {
        test(name, async (t) => {
            const play = await new Play(name, scenario, captures).start(t);
            const wanted = shapeOf(checkStream(bytesOf('streams', `${name}.sse`).toString(), { interleaved: true }).events);
            const said = shapeOf(await play.streamed());
            if (scenario.fails)
                assert.deepEqual(withoutWords(said), withoutWords(wanted));
            else
                assert.deepEqual(said, wanted);
        });

        if (!scenario.fails)
            test(`${name}, not streamed: the same response`, async (t) => {
                const play = await new Play(name, scenario, captures).start(t);
                const { response } = (await play.streamed()).at(-1);
                assert.deepEqual(shapeOf([{ response: await play.whole() }]), shapeOf([{ response }]));
            });
    }
});

/* What a compaction does in a loop is a scenario (tests/scenario). */
test('every stream of the contract that has an item of an MCP server is among them', () => {
    const streams = namesIn('streams', '.sse').filter((name) => !name.startsWith('compaction_') && bytesOf('streams', name).includes('"type":"mcp_'));
    assert.deepEqual(streams.map((name) => name.replace('.sse', '')), Object.keys(SCENARIOS).sort());
});

captures.judge(test);
