/* search_server.mjs -- the four search services in one server, after their documentation.
 *
 *     const service = await startSearch(t);
 *     gateway(t, { args: service.args('tavily') });          // brave, exa, searxng
 *     service.finds({ url: 'https://x.example/', title: 'X', text: 'About X.' });
 *     service.next(status(429));                             // instead of the next list
 *     service.asked[0]                                       // what a query said, whoever was asked
 *
 * Which one is asked is seen by the path. Each takes the request as its own API wants it, key
 * included, and answers 4xx to anything else, so that a test that finds something has asked
 * rightly. */
import { HANG, json, startUpstream } from './upstream.mjs';

export const KEY = 'key-of-the-search-service';

export const status = (code) => json(code, { error: { message: `the key was ${KEY}` } });
export const silent = { before: [HANG] };
export const notJson = { headers: { 'content-type': 'text/html' }, pieces: ['<html>no results</html>'] };
/* Without end. */
export const tooLarge = () => ({
    headers: { 'content-type': 'application/json' },
    pieces: (function* () {
        yield '{"results":[{"url":"https://x.example/","title":"';
        for (;;)
            yield 'x'.repeat(64 * 1024);
    })(),
});

const bearer = `Bearer ${KEY}`;

/* How each is asked, and how it says what it has found. */
const SERVICES = {
    searxng: {
        method: 'GET',
        path: '/searxng/search',
        accepts: ({ query }) => query.get('format') === 'json',
        refusal: 403,
        read: ({ query }) => ({ query: query.get('q') }),
        write: (found, query) => ({
            query, number_of_results: 0, unresponsive_engines: [],
            results: found.map(({ url, title, text, date }) =>
                ({ url, title, content: text, publishedDate: date ?? null, engine: 'test', engines: ['test'], score: 1 })),
        }),
    },
    brave: {
        method: 'GET',
        path: '/brave',
        accepts: ({ headers }) => headers['x-subscription-token'] === KEY,
        refusal: 401,
        read: ({ query, headers }) => ({
            query: query.get('q'), count: Number(query.get('count')),
            country: query.get('country') ?? undefined, city: headers['x-loc-city'],
        }),
        write: (found, query) => ({
            type: 'search', query: { original: query },
            ...(found.length > 0 && {
                web: {
                    type: 'search',
                    results: found.map(({ url, title, text, date }) => ({ url, title, description: text, page_age: date })),
                },
            }),
        }),
    },
    tavily: {
        method: 'POST',
        path: '/tavily',
        accepts: ({ headers }) => headers.authorization === bearer,
        refusal: 401,
        read: ({ body }) => ({
            query: body.query, count: body.max_results, country: body.country,
            allowed: body.include_domains, blocked: body.exclude_domains,
        }),
        write: (found, query) => ({
            query, answer: null, images: [], response_time: 0.1,
            results: found.map(({ url, title, text }) => ({ url, title, content: text, score: 0.9, raw_content: null })),
        }),
    },
    exa: {
        method: 'POST',
        path: '/exa',
        accepts: ({ headers }) => headers['x-api-key'] === KEY,
        refusal: 401,
        read: ({ body }) => ({
            query: body.query, count: body.numResults, country: body.userLocation,
            allowed: body.includeDomains, blocked: body.excludeDomains,
        }),
        write: (found) => ({
            requestId: '1',
            results: found.map(({ url, title, text, date }) =>
                ({ id: url, url, title, publishedDate: date, author: null, highlights: [text], highlightScores: [0.5] })),
        }),
    },
};

export const PROVIDERS = Object.keys(SERVICES);

class SearchServer {
    asked = [];
    #found = [];
    #instead = [];

    async listen() {
        this.server = await startUpstream();
        this.server.always((request) => this.#answer(request));
        return this;
    }

    /* Flags of a gateway that searches here. */
    args(provider) {
        const address = this.server.origin + SERVICES[provider].path.replace(/\/search$/, '');
        return ['--search-provider', provider, '--search-url', address,
            ...(provider === 'searxng' ? [] : ['--search-key', KEY])];
    }

    finds(...found) {
        this.#found = found;
    }

    next(...answers) {
        this.#instead.push(...answers);
    }

    get requests() {
        return this.server.requests;
    }

    #answer(request) {
        const { pathname, searchParams } = new URL(request.path, this.server.origin);
        const service = Object.values(SERVICES).find(({ path }) => path === pathname);
        const seen = { ...request, query: searchParams };
        if (service === undefined || service.method !== request.method)
            return status(404);
        if (!service.accepts(seen))
            return status(service.refusal);
        const asked = service.read(seen);
        this.asked.push(asked);
        return this.#instead.shift() ?? json(200, service.write(this.#found, asked.query));
    }

    close() {
        return this.server.close();
    }
}

/* One that ends with its test. */
export async function startSearch(t) {
    const server = await new SearchServer().listen();
    t.after(() => server.close());
    return server;
}
