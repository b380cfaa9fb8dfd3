/* tool_search.test.mjs -- tools that wait until the model has searched for them (CONTRACT 1.9): what it is
 * shown before and after, in which order, and what clients see; in the next round, in the next turn with
 * and without state, and on another gateway. */
import assert from 'node:assert/strict';
import test, { describe } from 'node:test';
import { Captures } from '../lib/check.mjs';
import { declared, flowOf, gateway, shown, withoutIds } from '../lib/mcp.mjs';
import { startMcp } from '../lib/mcp_server.mjs';
import { fn, output, user } from '../lib/state.mjs';
import { callStream, chunk, frames, rawCompletion, stream, textStream, usageChunk } from '../lib/upstream.mjs';

const captures = new Captures();

const tool = (name, description, more = {}) => ({ ...fn(name), description, ...more });
const deferred = (name, description, more = {}) => tool(name, description, { defer_loading: true, ...more });
const SEARCH = { type: 'tool_search' };
const NOW = tool('now', 'The time of day');
const WEATHER = deferred('get_weather', 'Weather and forecast for a city');
const CRM = {
    type: 'namespace', name: 'crm', description: 'Customers and orders', tools: [
        deferred('find_customer', 'Looks up a customer by name'),
        deferred('list_orders', 'Orders of a customer'),
        tool('ping', 'Is it there?'),
    ],
};
const GREP = { type: 'custom', name: 'grep', description: 'Finds lines by a pattern', defer_loading: true, format: { type: 'grammar', syntax: 'regex', definition: '[a-z]+' } };
const TOOLS = [NOW, SEARCH, WEATHER, CRM, GREP];
const DOCS = {
    search: { description: 'Searches the handbook', annotations: { readOnlyHint: true }, call: ({ q }) => `found ${q}` },
    fetch: { description: 'A page of the handbook', call: () => 'a page' },
};

/* What the model says of a search: with an id and blanks of its own. */
const asking = (query, { name = 'tool_search', id = 'eHN4F1xyz' } = {}) => stream(frames(
    chunk({ tool_calls: [{ index: 0, id, type: 'function', function: { name, arguments: `{"query":  "${query}"}` } }] }),
    chunk({}, 'tool_calls'), usageChunk(20, 5), '[DONE]'));

const named = ({ body }) => (body.tools ?? []).map(({ function: { name } }) => name);
const told = ({ body }) => body.messages.filter(({ role }) => role === 'tool').map(({ content }) => content);
const kinds = (items) => items.map(({ type }) => type);

/* The bytes of an array in the body, without what closes it. */
function bytesOf({ raw }, member) {
    const text = raw.toString();
    const begin = text.indexOf(`"${member}":[`);
    let depth = 0, inText = false;
    for (let i = text.indexOf('[', begin); ; i++) {
        if (inText)
            inText = text[i] !== '"' || /(^|[^\\])(\\\\)*\\$/.test(text.slice(begin, i));
        else if (text[i] === '"')
            inText = true;
        else
            depth += '[{'.includes(text[i]) ? 1 : ']}'.includes(text[i]) ? -1 : 0;
        if (depth === 0 && text[i] === ']')
            return text.slice(begin, i);
    }
}

/* All that was sent before stays as it was. */
function begins(before, after) {
    for (const member of ['tools', 'messages'])
        assert.ok(bytesOf(after, member).startsWith(bytesOf(before, member)), `${member}: ${bytesOf(before, member)}\n\n${bytesOf(after, member)}`);
}

async function started(t, options = {}) {
    return gateway(t, { captures, ...options });
}

async function withDocs(t, options = {}) {
    const docs = await startMcp({ tools: DOCS });
    return { docs, g: await started(t, { servers: { docs }, ...options }) };
}

describe('what the model is shown', () => {
    test('no tool that waits, how many there are and what they belong to; then what was found, at the end', async (t) => {
        const g = await started(t);
        g.up.next(asking('weather in Oslo'), textStream('Done.'));
        await g.respond({ tools: TOOLS });
        const [first, second] = g.up.requests;
        assert.deepEqual(named(first), ['now', 'tool_search', 'crm__ping']);
        assert.deepEqual(named(second), ['now', 'tool_search', 'crm__ping', 'get_weather']);
        begins(first, second);
        const { description, parameters } = first.body.tools[1].function;
        assert.match(description, /\b4 in all\b/);
        assert.ok(description.includes('- crm: Customers and orders'));
        assert.deepEqual(Object.keys(parameters.properties), ['query', 'limit']);
        assert.deepEqual(told(second), ['Found, and can be called now:\nget_weather: Weather and forecast for a city']);
        assert.deepEqual(second.body.messages.at(-2).tool_calls[0], { id: 'eHN4F1xyz', type: 'function', function: { name: 'tool_search', arguments: '{"query":  "weather in Oslo"}' } });
    });

    test('each search adds to what was found before', async (t) => {
        const g = await started(t);
        g.up.next(asking('weather'), asking('customer', { id: 'b' }), asking('weather', { id: 'c' }), textStream('Done.'));
        await g.respond({ tools: TOOLS });
        assert.deepEqual(g.up.requests.map(named), [
            ['now', 'tool_search', 'crm__ping'],
            ['now', 'tool_search', 'crm__ping', 'get_weather'],
            ['now', 'tool_search', 'crm__ping', 'get_weather', 'crm__find_customer', 'crm__list_orders'],
            ['now', 'tool_search', 'crm__ping', 'get_weather', 'crm__find_customer', 'crm__list_orders'],
        ]);
        for (let i = 1; i < 4; i++)
            begins(g.up.requests[i - 1], g.up.requests[i]);
    });

    test('single tools of a namespace, whose calls have it', async (t) => {
        const g = await started(t);
        g.up.next(asking('look up by name'), callStream(['crm__find_customer', { name: 'Ann' }, 'c2']));
        const { output: items } = await g.respond({ tools: TOOLS });
        assert.deepEqual(named(g.up.requests[1]).slice(3), ['crm__find_customer']);
        assert.deepEqual(kinds(items), ['tool_search_call', 'tool_search_output', 'function_call']);
        assert.deepEqual([items[2].namespace, items[2].name], ['crm', 'find_customer']);
        const [found] = items[1].tools;
        assert.deepEqual([found.type, found.name, found.description, found.tools.map(({ name }) => name)], ['namespace', 'crm', 'Customers and orders', ['find_customer']]);
    });

    test('custom tools with their grammar', async (t) => {
        const g = await started(t);
        g.up.next(asking('lines by pattern'), callStream(['grep', { input: 'abc' }, 'c2']));
        const { output: items } = await g.respond({ tools: TOOLS });
        assert.deepEqual(items[1].tools, [GREP]);
        assert.deepEqual([items[2].type, items[2].input], ['custom_tool_call', 'abc']);
    });

    test('nothing, where nothing fits or nothing is asked for: the model learns of it', async (t) => {
        const g = await started(t);
        g.up.next(asking('xyzzy'), callStream(['tool_search', {}, 'b']), callStream(['tool_search', { query: 7 }, 'c']), textStream('Sorry.'));
        const { output: items } = await g.respond({ tools: TOOLS });
        assert.deepEqual(told(g.up.requests[3]), ['No tools found.', 'No tools found.', 'No tools found.']);
        assert.deepEqual(items.filter(({ type }) => type === 'tool_search_call').map((item) => [item.status, item.arguments]),
            [['completed', { query: 'xyzzy' }], ['completed', { query: '' }], ['completed', { query: '' }]]);
        assert.deepEqual(named(g.up.requests[3]), named(g.up.requests[0]));
    });

    test('no more than tool_search_results, and no more than the model asks for', async (t) => {
        const g = await started(t, { args: ['--tool-search-results', '2'] });
        const many = Array.from({ length: 9 }, (_, i) => deferred(`report_${i}`, 'A report'));
        g.up.next(callStream(['tool_search', { query: 'report', limit: 1 }, 'a']), callStream(['tool_search', { query: 'report', limit: 99 }, 'b']), textStream('Done.'));
        await g.respond({ tools: [SEARCH, ...many] });
        assert.deepEqual(g.up.requests.map(named), [['tool_search'], ['tool_search', 'report_0'], ['tool_search', 'report_0', 'report_1', 'report_2']], 'of equals those that wait come first');
    });

    test('five by default', async (t) => {
        const g = await started(t);
        g.up.next(asking('report'), textStream('Done.'));
        await g.respond({ tools: [SEARCH, ...Array.from({ length: 9 }, (_, i) => deferred(`report_${i}`, 'A report'))] });
        assert.equal(named(g.up.requests[1]).length, 6);
    });
});

describe('what the client sees', () => {
    test('two items for a search, with no other events than added and done; the same whether it streams or not', async (t) => {
        const g = await started(t);
        g.up.next(asking('weather'), textStream('Done.'));
        const { events, items } = await g.stream({ tools: TOOLS });
        assert.deepEqual(flowOf(events).slice(0, 6), ['created', 'in_progress', 'output_item.added tool_search_call', 'output_item.done tool_search_call',
            'output_item.added tool_search_output', 'output_item.done tool_search_output']);
        const [call, found] = items;
        assert.match(call.id, /^tsc_/);
        assert.match(found.id, /^tso_/);
        assert.deepEqual(withoutIds([call, found]), [
            { id: 'tsc_', type: 'tool_search_call', status: 'completed', call_id: null, execution: 'server', arguments: { query: 'weather' } },
            { id: 'tso_', type: 'tool_search_output', status: 'completed', call_id: null, execution: 'server', tools: [{ parameters: null, strict: null, ...WEATHER }] },
        ]);
        const added = events.filter(({ type }) => type === 'response.output_item.added').map(({ item }) => item);
        assert.deepEqual(added.slice(0, 2), [{ ...call, status: 'in_progress' }, { ...found, status: 'in_progress', tools: [] }]);
        g.up.next(asking('weather'), textStream('Done.'));
        const whole = await g.respond({ tools: TOOLS });
        assert.deepEqual(withoutIds(whole.output), withoutIds(items));
        assert.deepEqual(whole.tools.map(({ type, name }) => name ?? type), ['now', 'tool_search', 'get_weather', 'crm', 'grep']);
    });

    test('several searches of one round, each with what it found', async (t) => {
        for (const parallel_tool_calls of [true, undefined]) {
            const g = await started(t);
            g.up.next(callStream(['tool_search', { query: 'weather' }, 'a'], ['tool_search', { query: 'pattern' }, 'b']), textStream('Done.'));
            const { output: items } = await g.respond({ tools: TOOLS, parallel_tool_calls });
            assert.deepEqual(kinds(items), ['tool_search_call', 'tool_search_call', 'tool_search_output', 'tool_search_output', 'message']);
            assert.deepEqual(items.slice(2, 4).map(({ tools: [{ name }] }) => name), ['get_weather', 'grep']);
            assert.deepEqual(told(g.up.requests[1]).map((text) => text.split(/[\n:]/)[2]), ['get_weather', 'grep']);
        }
    });

    test('one search where there is to be one call', async (t) => {
        const g = await started(t);
        g.up.next(callStream(['tool_search', { query: 'weather' }, 'a'], ['tool_search', { query: 'pattern' }, 'b']), textStream('Done.'));
        const { output: items } = await g.respond({ tools: TOOLS, parallel_tool_calls: false });
        assert.deepEqual(kinds(items), ['tool_search_call', 'tool_search_output', 'message']);
    });

    test('a search beside a call of its own: that ends the response, and the search stays known', async (t) => {
        const g = await started(t);
        g.up.next(callStream(['tool_search', { query: 'weather' }, 'a'], ['now', {}, 'b']));
        const { id, output: items } = await g.respond({ tools: TOOLS });
        assert.deepEqual(kinds(items), ['tool_search_call', 'function_call', 'tool_search_output']);
        await g.respond({ tools: TOOLS, previous_response_id: id, input: [output('b', 'noon')] });
        assert.deepEqual(named(g.up.requests[1]), ['now', 'tool_search', 'crm__ping', 'get_weather']);
        assert.deepEqual(told(g.up.requests[1]).length, 2);
    });

    test('no search is counted by max_tool_calls', async (t) => {
        const { g } = await withDocs(t);
        g.up.next(asking('handbook'), callStream([shown('docs', 'search'), { q: 'x' }, 'b']), textStream('Done.'));
        const { output: items } = await g.respond({ tools: [SEARCH, declared('docs', { defer_loading: true })], max_tool_calls: 1 });
        assert.deepEqual(kinds(items), ['tool_search_call', 'tool_search_output', 'mcp_call', 'message']);
    });
});

describe('tools of servers', () => {
    test('are found by their names and descriptions, and run as usual', async (t) => {
        const { g, docs } = await withDocs(t);
        const tools = [SEARCH, declared('docs', { defer_loading: true, server_description: 'The handbook of the house' })];
        g.up.next(asking('page of the handbook'), callStream([shown('docs', 'fetch'), {}, 'b']), textStream('Done.'));
        const { output: items } = await g.respond({ tools });
        assert.deepEqual(named(g.up.requests[0]), ['tool_search']);
        assert.ok(g.up.requests[0].body.tools[0].function.description.includes('- docs: The handbook of the house'));
        assert.deepEqual(named(g.up.requests[1]), ['tool_search', shown('docs', 'fetch'), shown('docs', 'search')]);
        assert.deepEqual(items[1].tools, [{ type: 'mcp', server_label: 'docs', server_description: 'The handbook of the house', defer_loading: true, allowed_tools: ['fetch', 'search'] }]);
        assert.deepEqual([items[2].type, items[2].output, docs.calls.length], ['mcp_call', 'a page', 1]);
        begins(g.up.requests[0], g.up.requests[1]);
        begins(g.up.requests[1], g.up.requests[2]);
    });

    test('stand behind those of the request that were found before, and before what is found later', async (t) => {
        const { g } = await withDocs(t);
        g.up.next(asking('weather'), asking('searches the handbook', { id: 'b' }), asking('lines by pattern', { id: 'c' }), textStream('Done.'));
        await g.respond({ tools: [...TOOLS, declared('docs', { defer_loading: true, allowed_tools: ['search'] })] });
        assert.deepEqual(named(g.up.requests[3]), ['now', 'tool_search', 'crm__ping', 'get_weather', shown('docs', 'search'), 'grep']);
    });

    test('ask for an approval where they have to', async (t) => {
        const { g, docs } = await withDocs(t);
        const tools = [SEARCH, declared('docs', { defer_loading: true, require_approval: 'always' })];
        g.up.next(asking('page'), callStream([shown('docs', 'fetch'), {}, 'b']));
        const first = await g.respond({ tools });
        assert.deepEqual(kinds(first.output), ['tool_search_call', 'tool_search_output', 'mcp_approval_request']);
        g.up.next(textStream('Done.'));
        const second = await g.respond({ tools, previous_response_id: first.id, input: [{ type: 'mcp_approval_response', approval_request_id: first.output[2].id, approve: true }] });
        assert.deepEqual([kinds(second.output), docs.calls.length], [['mcp_call', 'message'], 1]);
        begins(g.up.requests[1], g.up.requests[2]);
    });

    test('that every request gets do not wait', async (t) => {
        const { g } = await withDocs(t, { args: ['--mcp-inject', 'always'] });
        await g.respond({ tools: TOOLS });
        assert.deepEqual(named(g.up.requests[0]), ['now', 'tool_search', 'crm__ping', shown('docs', 'search'), shown('docs', 'fetch')]);
    });
});

describe('the next turn', () => {
    const ROUNDS = [asking('handbook pages'), asking('weather', { id: 'eHN4F2xyz' }), callStream(['get_weather', { city: 'Oslo' }, 'c1'])];

    /* What was asked last, and what the client has then. */
    async function asked(t, more = {}) {
        const { g, docs } = await withDocs(t);
        const tools = [...TOOLS, declared('docs', { defer_loading: true })];
        g.up.next(...ROUNDS);
        const response = await g.respond({ tools, ...more });
        assert.equal(response.output.at(-1).type, 'function_call');
        return { g, docs, tools, response, last: g.up.requests.at(-1) };
    }

    const answer = output('c1', 'rain');

    test('begins as the last round did: previous_response_id, with the tools sent again and inherited', async (t) => {
        const { g, tools, response, last } = await asked(t);
        for (const again of [{ tools }, {}]) {
            await g.respond({ ...again, previous_response_id: response.id, input: [answer] });
            begins(last, g.up.requests.at(-1));
            assert.deepEqual(named(g.up.requests.at(-1)), named(last));
        }
    });

    test('a conversation', async (t) => {
        const { g, docs } = await withDocs(t);
        const tools = [...TOOLS, declared('docs', { defer_loading: true })];
        const { id } = await g.make('conversations', {});
        g.up.next(...ROUNDS);
        await g.respond({ tools, conversation: id });
        const last = g.up.requests.at(-1);
        await g.respond({ tools, conversation: id, input: [answer] });
        begins(last, g.up.requests.at(-1));
        assert.ok(docs);
    });

    for (const [what, shape] of Object.entries({
        'all items': (items) => items,
        'all items without ids': (items) => items.map(({ id: _id, ...item }) => item),
    }))
        test(`a client that keeps its history: ${what}`, async (t) => {
            const { g, tools, response, last } = await asked(t, { store: false });
            await g.respond({ tools, store: false, input: [user('Hi'), ...shape(response.output), answer] });
            assert.equal(bytesOf(g.up.requests.at(-1), 'tools'), bytesOf(last, 'tools'));
            assert.deepEqual(told(g.up.requests.at(-1)), [...told(last), 'rain']);
            if (what === 'all items')
                begins(last, g.up.requests.at(-1));
        });

    test('on another gateway, that has never seen any of it', async (t) => {
        const { tools, response, last } = await asked(t, { store: false });
        const { g } = await withDocs(t);
        await g.respond({ tools, store: false, input: [user('Hi'), ...response.output, answer] });
        assert.equal(bytesOf(g.up.requests[0], 'tools'), bytesOf(last, 'tools'));
        assert.deepEqual(told(g.up.requests[0]), [...told(last), 'rain']);
        assert.deepEqual(g.up.requests[0].body.messages.map(({ role }) => role), ['user', 'assistant', 'tool', 'assistant', 'tool', 'assistant', 'tool']);
    });

    test('what was called is there even when the client leaves the searches out', async (t) => {
        const { tools, response } = await asked(t, { store: false });
        const { g } = await withDocs(t);
        await g.respond({ tools, store: false, input: [user('Hi'), response.output.at(-1), answer] });
        assert.deepEqual(named(g.up.requests[0]), ['now', 'tool_search', 'crm__ping', 'get_weather']);
    });

    test('items are listed and can be asked for as they were, and as they came', async (t) => {
        const { g, tools, response } = await asked(t);
        const searches = response.output.filter(({ type }) => /^tool_search/.test(type));
        assert.deepEqual((await g.read(`responses/${response.id}`)).output, response.output);
        const next = await g.respond({ tools, input: [user('Hi'), ...response.output, answer] });
        const listed = (await g.read(`responses/${next.id}/input_items?order=asc`)).data;
        assert.deepEqual(listed.filter(({ type }) => /^tool_search/.test(type)), searches);
    });

    test('a definition that has changed since is the one that holds', async (t) => {
        const { g, tools, response } = await asked(t, { store: false });
        const changed = tools.map((one) => (one.name === 'get_weather' ? { ...one, description: 'Weather, anew' } : one));
        await g.respond({ tools: changed, store: false, input: [user('Hi'), ...response.output, answer] });
        const weather = g.up.requests.at(-1).body.tools.find(({ function: { name } }) => name === 'get_weather');
        assert.equal(weather.function.description, 'Weather, anew');
        assert.equal(named(g.up.requests.at(-1)).filter((name) => name === 'get_weather').length, 1);
    });
});

describe('tool_choice', () => {
    const cases = {
        'a function that waits is there': [{ type: 'function', name: 'get_weather' }, ['now', 'tool_search', 'get_weather', 'crm__ping']],
        'the search itself': [{ type: 'tool_search' }, ['now', 'tool_search', 'crm__ping']],
        'required': ['required', ['now', 'tool_search', 'crm__ping']],
        'none': ['none', ['now', 'tool_search', 'crm__ping']],
        'allowed_tools with the search: they wait': [{ type: 'allowed_tools', mode: 'auto', tools: [{ type: 'tool_search' }, { type: 'function', name: 'get_weather' }] }, ['tool_search']],
        'allowed_tools without it: they are there': [{ type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'now' }, { type: 'function', name: 'get_weather' }] }, ['now', 'get_weather']],
    };

    for (const [what, [tool_choice, names]] of Object.entries(cases))
        test(what, async (t) => {
            const g = await started(t);
            await g.respond({ tools: TOOLS, tool_choice });
            assert.deepEqual(named(g.up.requests[0]), names);
        });

    test('what is not allowed is not found', async (t) => {
        const g = await started(t);
        g.up.next(asking('weather or customer'), textStream('Done.'));
        await g.respond({ tools: TOOLS, tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'tool_search' }, { type: 'function', name: 'get_weather' }] } });
        assert.deepEqual(named(g.up.requests[1]), ['tool_search', 'get_weather']);
    });

    test('a server whose tools wait is there', async (t) => {
        const { g } = await withDocs(t);
        await g.respond({ tools: [SEARCH, WEATHER, declared('docs', { defer_loading: true })], tool_choice: { type: 'mcp', server_label: 'docs' } });
        assert.deepEqual(named(g.up.requests[0]), [shown('docs', 'search'), shown('docs', 'fetch')]);
    });
});

describe('a request', () => {
    test('without anything to search gets no search, and its echo has it', async (t) => {
        const g = await started(t);
        const response = await g.respond({ tools: [NOW, SEARCH] });
        assert.deepEqual(named(g.up.requests[0]), ['now']);
        assert.deepEqual(response.tools.map(({ type }) => type), ['function', 'tool_search']);
        await g.respond({ tools: [SEARCH] });
        assert.ok(!('tools' in g.up.requests[1].body));
    });

    test('without a search has all of its tools', async (t) => {
        const g = await started(t);
        await g.respond({ tools: [NOW, WEATHER] });
        assert.deepEqual(named(g.up.requests[0]), ['now', 'get_weather']);
    });

    test('may have a function of that name: the search has another', async (t) => {
        const g = await started(t);
        g.up.next(asking('weather', { name: 'tool_search_2' }), textStream('Done.'));
        await g.respond({ tools: [tool('tool_search', 'Mine'), SEARCH, WEATHER] });
        assert.deepEqual(named(g.up.requests[1]), ['tool_search', 'tool_search_2', 'get_weather']);
        assert.equal(g.up.requests[1].body.messages.at(-2).tool_calls[0].function.name, 'tool_search_2');
    });

    test('has one search', async (t) => {
        const g = await started(t);
        await g.turnedAway({ tools: [SEARCH, SEARCH] }, [400, 'invalid_value', 'tools[1].type']);
        await g.turnedAway({ tools: [SEARCH, { ...SEARCH, execution: 'client' }] }, [400, 'invalid_value', 'tools[1].type']);
        await g.turnedAway({ tools: [{ ...SEARCH, execution: 'elsewhere' }] }, [400, 'invalid_value', 'tools[0].execution']);
    });

    test('the model may call what it has not been shown', async (t) => {
        const g = await started(t);
        g.up.next(callStream(['get_weather', {}, 'c1']));
        const { id, output: [call] } = await g.respond({ tools: TOOLS });
        assert.deepEqual([call.type, call.name], ['function_call', 'get_weather']);
        await g.respond({ tools: TOOLS, previous_response_id: id, input: [output('c1', 'rain')] });
        assert.deepEqual(named(g.up.requests[1]), ['now', 'tool_search', 'crm__ping', 'get_weather']);
    });

    test('with a thousand tools is searched', async (t) => {
        const g = await started(t);
        const many = Array.from({ length: 1000 }, (_, i) => deferred(`tool_${i}`, `Does the thing number ${i} of many`, { parameters: { type: 'object', properties: { [`a${i}`]: { type: 'string', description: 'x '.repeat(100) } } } }));
        g.up.next(asking('thing number 777'), textStream('Done.'));
        const { output: [, found] } = await g.respond({ tools: [SEARCH, ...many] });
        assert.equal(found.tools[0].name, 'tool_777');
    });
});

test('a prompt of our own for gpt-oss shows what was found behind all else', async (t) => {
    const g = await started(t, { args: ['--model', 'gpt-oss-20b', '--harmony', 'harmony-completions'] });
    const call = (name, args) => rawCompletion(`<|channel|>commentary to=functions.${name} <|constrain|>json<|message|>${args}<|call|>`);
    g.up.next(call('tool_search', '{"query":"weather"}'), call('get_weather', '{}'));
    const { output: items } = await g.respond({ model: 'gpt-oss-20b', tools: TOOLS });
    assert.deepEqual(kinds(items), ['tool_search_call', 'tool_search_output', 'function_call']);
    const [first, second] = g.up.requests.map(({ body: { prompt } }) => prompt);
    const shownIn = (prompt) => [...prompt.matchAll(/^type (\w+) = /gm)].map(([, name]) => name);
    assert.deepEqual(shownIn(first), ['now', 'tool_search', 'crm__ping']);
    assert.deepEqual(shownIn(second), ['now', 'tool_search', 'crm__ping', 'get_weather']);
    assert.ok(second.startsWith(first.slice(0, first.indexOf('} // namespace functions'))));
    assert.ok(second.includes('Found, and can be called now:\nget_weather'));
});

captures.judge(test);
