/* web_search.test.mjs -- the web, searched and read for a model: items and events, what the model
 * is told, citations. Services and pages that mean harm are in web_services.test.mjs. */
import assert from 'node:assert/strict';
import test, { describe } from 'node:test';
import { Captures } from '../lib/check.mjs';
import { flowOf, gateway, rawCall } from '../lib/mcp.mjs';
import { startMcp } from '../lib/mcp_server.mjs';
import { startPages } from '../lib/page_server.mjs';
import { startSearch, status } from '../lib/search_server.mjs';
import { textOf } from '../lib/state.mjs';
import { callStream, HANG, textStream } from '../lib/upstream.mjs';

const captures = new Captures();
const TOOL = { type: 'web_search' };
const SOURCES = { tools: [TOOL], include: ['web_search_call.action.sources'] };
const RESULTS = [
    { title: 'FOMC statement', url: 'https://example.com/fomc', text: 'The range is 3.50% to 3.75%.' },
    { title: 'Rates', url: 'https://www.example.org/rates', text: 'All <b>rates</b> &amp; more.' },
];
const search = (query, id = 's1') => ['web_search', { action: 'search', query }, id];
const openPage = (url, id = 'o1') => ['web_search', { action: 'open_page', url }, id];
const find = (url, pattern, id = 'f1') => ['web_search', { action: 'find_in_page', url, pattern }, id];
const toolMessages = (g) => g.messages.filter(({ role }) => role === 'tool').map(({ content }) => content);

/* A gateway with a scripted SearXNG; pages on loopback may be opened. */
async function webGateway(t, args = []) {
    const service = await startSearch(t);
    service.finds(...RESULTS);
    const g = await gateway(t, { captures, args: [...service.args('searxng'), '--page-fetch', 'any', ...args] });
    return Object.assign(g, { service });
}

describe('a search', { concurrency: false }, () => {
    test('is announced, made and closed; the answer cites what it found', async (t) => {
        const g = await webGateway(t);
        g.up.next(callStream(search('fed funds rate')), textStream('The range is 3.50% to 3.75% 【0†L0】.'));
        const { events, items } = await g.stream(SOURCES);
        assert.deepEqual(flowOf(events), [
            'created', 'in_progress',
            'output_item.added web_search_call', 'web_search_call.in_progress', 'web_search_call.searching', 'web_search_call.completed',
            'output_item.done web_search_call',
            'output_item.added message', 'content_part.added', 'output_text.delta', 'output_text.annotation.added', 'output_text.done', 'content_part.done', 'output_item.done message',
            'completed',
        ]);
        assert.deepEqual(items[0], {
            id: items[0].id, type: 'web_search_call', status: 'completed',
            action: {
                type: 'search', query: 'fed funds rate', queries: ['fed funds rate'],
                sources: RESULTS.map(({ url }) => ({ type: 'url', url })),
            },
        });
        assert.match(items[0].id, /^ws_/);
        const [{ text, annotations: [cited] }] = items[1].content;
        assert.equal(text, 'The range is 3.50% to 3.75% ([example.com](https://example.com/fomc)).');
        assert.deepEqual(cited, { type: 'url_citation', url: RESULTS[0].url, title: 'FOMC statement', start_index: 28, end_index: text.length - 1 });
        assert.deepEqual(g.service.asked.map(({ query }) => query), ['fed funds rate']);
        const [told] = toolMessages(g);
        assert.match(told, /^\[0\] /);
        assert.match(told, /FOMC statement/);
        assert.match(told, /All rates & more\./);
    });

    test('shows its sources only to who asks for them', async (t) => {
        const g = await webGateway(t);
        g.up.next(callStream(search('x')), textStream('Done.'));
        const { output } = await g.respond({ tools: [TOOL] });
        assert.deepEqual(output[0].action, { type: 'search', query: 'x', queries: ['x'] });
    });

    test('the model is shown one function with four arguments', async (t) => {
        const g = await webGateway(t);
        g.up.next(textStream('Hello.'));
        await g.respond({ tools: [TOOL] });
        const [{ function: { name, parameters } }] = g.up.requests[0].body.tools;
        assert.equal(name, 'web_search');
        assert.deepEqual(Object.keys(parameters.properties), ['action', 'query', 'url', 'pattern']);
    });

    test('by any of its names', async (t) => {
        const g = await webGateway(t);
        for (const type of ['web_search', 'web_search_2025_08_26', 'web_search_preview', 'web_search_preview_2025_03_11']) {
            g.up.next(callStream(search(type)), textStream('Done.'));
            assert.equal((await g.respond({ tools: [{ type }] })).output[0].type, 'web_search_call');
        }
        assert.equal(g.service.asked.length, 4);
    });

    test('can be insisted on', async (t) => {
        const g = await webGateway(t);
        g.up.next(callStream(search('x')), textStream('Done.'));
        const { output } = await g.respond({ tools: [{ type: 'web_search_preview' }], tool_choice: { type: 'web_search_preview' } });
        assert.equal(output[0].type, 'web_search_call');
        assert.deepEqual(g.up.requests[0].body.tool_choice, { type: 'function', function: { name: 'web_search' } });
        assert.equal(g.up.requests[1].body.tool_choice, 'auto');
    });

    test('finds nothing of domains that are not allowed', async (t) => {
        const g = await webGateway(t);
        g.up.next(callStream(search('x')), textStream('Done.'));
        const { items } = await g.stream({ ...SOURCES, tools: [{ ...TOOL, filters: { allowed_domains: ['example.org'] } }] });
        assert.deepEqual(items[0].action.sources, [{ type: 'url', url: RESULTS[1].url }]);
        assert.ok(!toolMessages(g)[0].includes('example.com/fomc'));
    });

    test('that fails is a failed item without .completed, and the model goes on', async (t) => {
        const g = await webGateway(t);
        g.service.next(status(500));
        g.up.next(callStream(search('x')), textStream('It failed.'));
        const { items, events, response } = await g.stream(SOURCES);
        assert.equal(items[0].status, 'failed');
        assert.ok(!flowOf(events).includes('web_search_call.completed'));
        assert.equal(response.status, 'completed');
    });

    for (const args of ['{}', 'rates', '[]', 'null', '', '{"query":5}', '{"action":"open_page"}', '{"action":"search","query":"x'])
        test(`whose arguments are ${args || 'empty'} is a failed item, and the model goes on`, async (t) => {
            const g = await webGateway(t);
            g.up.next(rawCall(['web_search', args]), textStream('Sorry.'));
            const { items, events, response } = await g.stream(SOURCES);
            assert.deepEqual(items.map(({ type, status }) => [type, status]), [['web_search_call', 'failed'], ['message', 'completed']]);
            assert.ok(!flowOf(events).includes('web_search_call.completed'));
            assert.match(toolMessages(g)[0], /^(Error|Invalid)/);
            assert.equal(response.status, 'completed');
            assert.deepEqual(g.service.asked, []);
        });

    test('a marker of no page stays as it is', async (t) => {
        const g = await webGateway(t);
        g.up.next(callStream(search('x')), textStream('So 【9†L0】 it is.'));
        const { items } = await g.stream(SOURCES);
        assert.equal(textOf(items[1]), 'So 【9†L0】 it is.');
        assert.deepEqual(items[1].content[0].annotations, []);
    });

    test('of an earlier turn is shown to the model again', async (t) => {
        const g = await webGateway(t);
        g.up.next(callStream(search('fed')), textStream('Done.'));
        const first = await g.respond(SOURCES);
        const before = g.messages;
        g.up.next(textStream('Sure.'));
        await g.respond({ previous_response_id: first.id, input: 'Sure?', tools: [TOOL] });
        assert.deepEqual(g.messages.slice(0, before.length), before);
        g.up.next(textStream('Sure.'));
        await g.respond({ input: [{ role: 'user', content: 'Hi' }, ...first.output, { role: 'user', content: 'Sure?' }], tools: [TOOL] });
        assert.deepEqual(toolMessages(g), toolMessages({ messages: before }), 'also when the client sends the items back');
        g.up.next(callStream(search('fed')), textStream('Done 【1†L0】.'));
        const { output } = await g.respond({ previous_response_id: first.id, input: 'Again?', tools: [TOOL] });
        assert.match(toolMessages(g)[1], /^\[1\] /, 'numbers go on');
        assert.equal(output[1].content[0].annotations[0].url, RESULTS[0].url);
    });

    test('takes no number of an earlier turn, which may still be cited', async (t) => {
        const g = await webGateway(t);
        g.up.next(callStream(search('fed')), textStream('Done.'));
        const first = await g.respond(SOURCES);
        g.up.next(callStream(search('rates', 's2')), textStream('Then 【0†L0】, now 【1†L0】.'));
        const { output } = await g.respond({ previous_response_id: first.id, input: 'Now?', tools: [TOOL] });
        assert.deepEqual(toolMessages(g).map((told) => told.slice(0, 3)), ['[0]', '[1]']);
        assert.equal(textOf(output[1]), 'Then 【0†L0】, now ([example.com](https://example.com/fomc)).');
    });

    test('through a tool of an MCP server', async (t) => {
        const asked = [];
        const finder = await startMcp({ tools: { find: {
            description: 'Finds', inputSchema: { type: 'object', properties: { q: { type: 'string' } } },
            call: ({ q }) => {
                asked.push(q);
                return JSON.stringify([{ title: 'T', link: 'https://example.com/t', snippet: 'S' }]);
            },
        } } });
        const g = await gateway(t, { captures, servers: { finder }, args: ['--search-provider', 'mcp', '--search-mcp', 'finder/find', '--search-mcp-argument', 'q'] });
        g.up.next(callStream(search('by mcp')), textStream('Done 【0†L0】.'));
        const { items } = await g.stream(SOURCES);
        assert.deepEqual(items[0].action.sources, [{ type: 'url', url: 'https://example.com/t' }]);
        assert.equal(items[1].content[0].annotations[0].url, 'https://example.com/t');
    });
});

describe('a page', { concurrency: false }, () => {
    test('is opened, read and cited; what is in it is found', async (t) => {
        const g = await webGateway(t);
        const web = await startPages(t);
        web.page('/a', '<title>A page</title><h1>Rates</h1><p>The range is <b>3.50%</b>.</p><script>no()</script><a href="/b">More</a>');
        const url = web.url('/a');
        g.up.next(callStream(openPage(url)), callStream(find(url, 'RANGE')), textStream('It is 3.50% 【0†L1】.'));
        const { items } = await g.stream(SOURCES);
        assert.deepEqual(items.map(({ status, action }) => [status, action]).slice(0, 2), [
            ['completed', { type: 'open_page', url }],
            ['completed', { type: 'find_in_page', url, pattern: 'RANGE' }],
        ]);
        const [opened, found] = toolMessages(g);
        assert.match(opened, /A page/);
        assert.match(opened, /The range is 3\.50%\./);
        assert.ok(!opened.includes('no()'));
        assert.match(found, /range/);
        assert.equal(items[2].content[0].annotations[0].url, url);
        assert.deepEqual(web.opened, ['/a'], 'fetched once for the response');
    });

    test('elsewhere than the client allows is not opened', async (t) => {
        const g = await webGateway(t);
        const web = await startPages(t);
        g.up.next(callStream(openPage(web.url('/a'))), textStream('Done.'));
        const { items } = await g.stream({ ...SOURCES, tools: [{ ...TOOL, filters: { allowed_domains: ['example.org'] } }] });
        assert.equal(items[0].status, 'failed');
        assert.deepEqual(web.opened, []);
    });

    test('is not fetched any more when the client leaves', async (t) => {
        const g = await webGateway(t);
        const web = await startPages(t);
        web.answer('/a', { headers: { 'content-type': 'text/html' }, pieces: ['<p>', HANG] });
        g.up.next(callStream(openPage(web.url('/a'))), textStream('Done.'));
        const left = new AbortController();
        const asking = fetch(`${g.daemon.origin}/v1/responses`, {
            method: 'POST', headers: { 'content-type': 'application/json' }, signal: left.signal,
            body: JSON.stringify({ model: 'm', input: 'Hi', stream: true, tools: [TOOL] }),
        }).then((response) => response.text());
        const { closed } = await web.server.request(0);
        left.abort();
        await assert.rejects(asking);
        await closed;
    });
});

describe('without a service', { concurrency: false }, () => {
    test('the tool is left out, and who insists is told why', async (t) => {
        const g = await gateway(t, { captures });
        g.up.next(textStream('Hello.'));
        await g.respond({ tools: [TOOL] });
        assert.ok(!('tools' in g.up.requests[0].body));
        const error = await g.turnedAway({ tools: [TOOL], tool_choice: TOOL }, [400, 'invalid_value', 'tool_choice']);
        assert.match(error.message, /\(search_provider\)\.$/);
    });
});

captures.judge(test);
