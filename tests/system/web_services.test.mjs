/* web_services.test.mjs -- the services that the web is searched with, and pages that mean harm: a
 * call fails or gives less, the response goes on, and nobody waits. */
import assert from 'node:assert/strict';
import test, { describe } from 'node:test';
import { Captures } from '../lib/check.mjs';
import { gateway } from '../lib/mcp.mjs';
import { startPages } from '../lib/page_server.mjs';
import { KEY, notJson, PROVIDERS, silent, startSearch, status, tooLarge } from '../lib/search_server.mjs';
import { callStream, textStream } from '../lib/upstream.mjs';

const captures = new Captures();
const found = { url: 'https://docs.example.org/x', title: 'X & Y', text: 'All about <b>X</b>.' };
const other = { url: 'https://elsewhere.example/', title: 'Z', text: 'Not about X.' };

/* One response in which the model uses the web; gives its item and what the model was told. */
async function uses(g, args, tool = {}) {
    g.up.next(callStream(['web_search', args, 'c1']), textStream('Done.'));
    const { response, items } = await g.stream({ tools: [{ type: 'web_search', ...tool }] });
    assert.equal(response.status, 'completed');
    return {
        call: items.find(({ type }) => type === 'web_search_call'),
        told: g.messages.findLast(({ role }) => role === 'tool').content,
    };
}

const searches = (g, tool) => uses(g, { action: 'search', query: 'what is X' }, tool);

describe('a service', { concurrency: false }, () => {
    for (const provider of PROVIDERS) {
        test(`${provider} is asked as it wants to be, and its results are told`, async (t) => {
            const service = await startSearch(t);
            const g = await gateway(t, { captures, args: service.args(provider) });
            service.finds(found, other);
            const { call, told } = await searches(g, { user_location: { type: 'approximate', country: 'DE', city: 'Munich' } });
            assert.equal(call.status, 'completed');
            assert.match(told, /X & Y/);
            assert.match(told, /https:\/\/docs\.example\.org\/x/);
            assert.match(told, /All about X\./);
            assert.match(service.asked[0].query, /^what is X/);
            const { country, city } = service.asked[0];
            assert.deepEqual([country, city], {
                searxng: [undefined, undefined], brave: ['DE', 'Munich'], tavily: ['germany', undefined], exa: ['DE', undefined],
            }[provider]);
        });

        test(`${provider} never gives results of other domains`, async (t) => {
            const service = await startSearch(t);
            const g = await gateway(t, { captures, args: service.args(provider) });
            service.finds(other, found);
            const { told } = await searches(g, { filters: { allowed_domains: ['example.org'] } });
            assert.match(told, /docs\.example\.org/);
            assert.doesNotMatch(told, /elsewhere/);
            const { allowed, query } = service.asked[0];
            assert.match(JSON.stringify(allowed ?? query), /example\.org/);
        });
    }

    test('that fails in any way fails the call, and its key is seen nowhere', async (t) => {
        const service = await startSearch(t);
        const g = await gateway(t, { captures, args: [...service.args('tavily'), '--search-timeout', '300ms'] });
        for (const [answer, words] of [
            [status(401), /Tavily does not accept the API key/], [status(429), /too many requests/],
            [status(500), /Tavily has failed/], [notJson, /not JSON/], [tooLarge(), /too large/],
            [silent, /did not answer in time/],
        ]) {
            service.next(answer);
            const { call, told } = await searches(g);
            assert.equal(call.status, 'failed');
            assert.match(told, words);
            assert.doesNotMatch(told + JSON.stringify(call), new RegExp(KEY));
        }
        service.finds(found);
        assert.equal((await searches(g)).call.status, 'completed');
        assert.doesNotMatch(g.daemon.log, new RegExp(KEY));
    });

    test('that refuses JSON says where to allow it', async (t) => {
        const service = await startSearch(t);
        const g = await gateway(t, { captures, args: service.args('searxng') });
        service.next(status(403));
        assert.match((await searches(g)).told, /search\.formats/);
    });
});

describe('a page', { concurrency: false }, () => {
    const MAX_PAGE = 256 * 1024;

    async function stage(t, args = []) {
        const service = await startSearch(t);
        const web = await startPages(t);
        const g = await gateway(t, {
            captures,
            args: [...service.args('searxng'), '--page-fetch', 'any', '--max-page', `${MAX_PAGE}`, '--search-timeout', '1s', ...args],
        });
        return { web, g, opens: (path) => uses(g, { action: 'open_page', url: web.url(path) }) };
    }

    test('is read, also where redirects lead', async (t) => {
        const { web, opens } = await stage(t);
        web.page('/a', '<title>A page</title><p>Its text.');
        web.answer('/b', { status: 301, headers: { location: 'a#part' }, pieces: [] });
        const { call, told } = await opens('/b');
        assert.equal(call.status, 'completed');
        assert.match(told, /A page/);
        assert.match(told, /Its text\./);
        assert.deepEqual(web.opened, ['/b', '/a']);
    });

    test('that is too large, packed or not, is cut', async (t) => {
        const { opens } = await stage(t);
        for (const [path, words] of [['/endless', /endless/], ['/bomb', /bomb/], ['/lies', /Half of it/]]) {
            const { call, told } = await opens(path);
            assert.equal(call.status, 'completed');
            assert.match(told, words);
            assert.ok(told.length < MAX_PAGE);
        }
    });

    test('that is odd is read as far as it can be', async (t) => {
        const { opens } = await stage(t);
        assert.equal((await opens('/charset')).call.status, 'completed');
        await opens('/deep'); /* whichever way, it ends */
    });

    test('that never ends, is no text or leads elsewhere fails', async (t) => {
        const { opens } = await stage(t, ['--page-deny', '169.254.169.254']);
        for (const [path, words] of [
            ['/drip', /did not come within/], ['/loop', /redirects more than/], ['/image', /image\/png/],
            ['/unknown-coding', /content coding/], ['/to-file', /Location/], ['/to-metadata', /does not allow its host/],
            ['/none', /404/],
        ]) {
            const { call, told } = await opens(path);
            assert.equal(call.status, 'failed', path);
            assert.match(told, words);
        }
    });

    test('of this machine is not opened unless the operator says so', async (t) => {
        const service = await startSearch(t);
        const web = await startPages(t);
        const g = await gateway(t, { captures, args: service.args('searxng') });
        for (const url of [web.url('/a'), 'http://localhost/', 'http://[::1]/', 'http://2130706433/']) {
            const { call } = await uses(g, { action: 'open_page', url });
            assert.equal(call.status, 'failed');
        }
        assert.deepEqual(web.opened, []);
    });
});

captures.judge(test);
