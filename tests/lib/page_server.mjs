/* page_server.mjs -- web pages, most of them hostile.
 *
 *     const web = await startPages(t);
 *     web.page('/a', '<title>A</title><p>Text');              // as text/html
 *     web.answer('/b', { status: 302, headers: {...} });      // as upstream.mjs has answers
 *     web.url('/a')
 *     web.opened                                              // paths, in order
 *
 * The hostile ones are at HOSTILE's names. */
import { gzipSync } from 'node:zlib';
import { startUpstream } from './upstream.mjs';

const HTML = { 'content-type': 'text/html' };
const MIB = 1024 * 1024;

export const html = (text, headers = {}) => ({ headers: { ...HTML, ...headers }, pieces: [text] });
export const redirect = (location, status = 302) => ({ status, headers: { location }, pieces: [] });

function* repeat(piece, n, between) {
    for (let i = 0; i < n; i++) {
        yield piece;
        if (between !== undefined)
            yield between;
    }
}

const BOMB = gzipSync(Buffer.alloc(MIB, 'bomb '));

/* Each is made anew for every request. */
const HOSTILE = {
    /* A gigabyte that would be sent, if anyone took it. */
    '/endless': () => ({ headers: HTML, pieces: repeat(`<p>${'endless '.repeat(8000)}</p>`, 16 * 1024) }),
    /* A gigabyte as a megabyte, packed piece by piece. */
    '/bomb': () => ({ headers: { ...HTML, 'content-encoding': 'gzip' }, pieces: repeat(BOMB, 1024) }),
    '/drip': () => ({ headers: HTML, pieces: repeat('x', Infinity, 20) }),
    '/loop': () => redirect('/loop'),
    '/deep': () => html('<div>'.repeat(100_000) + 'the deepest' + '</div>'.repeat(100_000)),
    /* Says one charset in the head, another in the page, and is a third. */
    '/charset': () => ({
        headers: { 'content-type': 'text/html; charset=utf-8' },
        pieces: [Buffer.concat([Buffer.from('<meta charset="shift_jis"><p>caf'), Buffer.from([0xe9, 0xff, 0x80]), Buffer.from(' end')])],
    }),
    '/lies': () => ({
        raw: true,
        pieces: ['HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 1000000\r\n\r\n<p>Half of it'],
    }),
    '/image': () => ({ headers: { 'content-type': 'image/png' }, pieces: ['\x89PNG'] }),
    '/unknown-coding': () => html('x', { 'content-encoding': 'br' }),
    '/to-file': () => redirect('file:///etc/passwd'),
    '/to-metadata': () => redirect('http://169.254.169.254/latest/meta-data/'),
};

class PageServer {
    #pages = new Map(Object.entries(HOSTILE));

    async listen() {
        this.server = await startUpstream();
        this.server.always(({ path }) => this.#pages.get(path)?.() ?? { ...html('<title>Not found</title>'), status: 404 });
        return this;
    }

    page(path, text) {
        this.answer(path, html(text));
    }

    answer(path, answer) {
        this.#pages.set(path, () => answer);
    }

    url(path) {
        return this.server.origin + path;
    }

    get opened() {
        return this.server.requests.map(({ path }) => path);
    }

    close() {
        return this.server.close();
    }
}

/* One that ends with its test. */
export async function startPages(t) {
    const server = await new PageServer().listen();
    t.after(() => server.close());
    return server;
}
