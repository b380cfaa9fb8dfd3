/* browser.mjs -- a real browser (headless Chromium), over its DevTools protocol on a pipe.
 *
 *     const browser = await startBrowser({ 'evil.test': '127.0.0.1' });
 *     const page = await browser.open('http://evil.test:1234/');
 *     const value = await page.run(async (url) => (await fetch(url)).text(), 'http://...');
 *     await browser.close();
 *
 * NO_BROWSER says why there is none, or is false: `test(name, { skip: NO_BROWSER }, ...)`.
 * The browser reaches loopback addresses only; names are those that the test gives. Its own
 * guard of local networks is off, so that what it sends reaches the gateway. */
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { patience } from './patience.mjs';

const PROGRAM = ['chromium', 'chromium-browser', 'google-chrome'].find((name) => spawnSync(name, ['--version'], { timeout: patience(20_000) }).status === 0);

export const NO_BROWSER = PROGRAM === undefined && 'there is no Chromium (Debian package chromium)';

const PATIENCE_MS = patience(60_000);

class Browser {
    log = '';
    #last = 0;
    #asked = new Map(); /* id -> { done, fail } */
    #loads = new Map(); /* session -> what waits for its page */
    #rest = '';

    constructor(hosts) {
        const rules = [...Object.entries(hosts).map(([name, address]) => `MAP ${name} ${address}`), 'MAP localhost 127.0.0.1', 'EXCLUDE 127.0.0.1', 'MAP * ~NOTFOUND'];
        this.folder = mkdtempSync(join(tmpdir(), 'antiphon-browser-'));
        this.child = spawn(PROGRAM, ['--headless=new', '--remote-debugging-pipe', `--user-data-dir=${this.folder}`, '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage',
            '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync', '--no-proxy-server',
            '--disable-features=LocalNetworkAccessChecks,BlockInsecurePrivateNetworkRequests,PrivateNetworkAccessChecks,HttpsUpgrades,HttpsFirstBalancedMode,OptimizationHints',
            `--host-resolver-rules=${rules.join(', ')}`, 'about:blank'],
        { stdio: ['ignore', 'ignore', 'pipe', 'pipe', 'pipe'], detached: true, env: { PATH: process.env.PATH, HOME: this.folder } });
        this.child.stderr.setEncoding('utf8').on('data', (text) => (this.log += text));
        this.child.stdio[4].setEncoding('utf8').on('data', (text) => this.#hear(text));
        for (const pipe of [this.child.stdio[3], this.child.stdio[4]])
            pipe.on('error', () => {}); /* its end is told below */
        this.ended = new Promise((done) => this.child.on('close', done));
        this.ended.then(() => this.#asked.forEach(({ fail }) => fail(new Error(`the browser has ended:\n${this.log.slice(-2000)}`))));
    }

    #hear(text) {
        const messages = (this.#rest + text).split('\0');
        this.#rest = messages.pop();
        for (const { id, error, result, method, sessionId } of messages.map((message) => JSON.parse(message))) {
            const { done, fail } = this.#asked.get(id) ?? {};
            this.#asked.delete(id);
            if (id !== undefined && error)
                fail?.(new Error(error.message));
            else if (id !== undefined)
                done?.(result);
            else if (method === 'Page.loadEventFired')
                this.#loads.get(sessionId)?.();
        }
    }

    ask(method, params = {}, sessionId) {
        const id = ++this.#last;
        return new Promise((done, fail) => {
            const late = setTimeout(() => fail(new Error(`the browser never answered ${method}:\n${this.log.slice(-2000)}`)), PATIENCE_MS);
            const over = (then) => (value) => (clearTimeout(late), then(value));
            this.#asked.set(id, { done: over(done), fail: over(fail) });
            this.child.stdio[3].write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
        });
    }

    /* A new window, when its page has been loaded. */
    async open(url) {
        const { targetId } = await this.ask('Target.createTarget', { url: 'about:blank' });
        const { sessionId } = await this.ask('Target.attachToTarget', { targetId, flatten: true });
        await this.ask('Page.enable', {}, sessionId);
        const loaded = new Promise((done) => this.#loads.set(sessionId, done));
        const { errorText } = await this.ask('Page.navigate', { url }, sessionId);
        if (errorText)
            throw new Error(`${url}: ${errorText}`);
        await loaded;
        return new Page(this, sessionId);
    }

    async close() {
        const late = setTimeout(() => process.kill(-this.child.pid, 'SIGKILL'), patience(10_000));
        this.ask('Browser.close').catch(() => {});
        await this.ended;
        clearTimeout(late);
        rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
    }
}

class Page {
    constructor(browser, session) {
        Object.assign(this, { browser, session });
    }

    /* Calls a function, which sees nothing but its arguments, within the page; gives its value. */
    async run(fn, ...args) {
        const expression = `(${fn})(...${JSON.stringify(args)})`;
        const { result, exceptionDetails } = await this.browser.ask('Runtime.evaluate', { expression, awaitPromise: true, returnByValue: true }, this.session);
        if (exceptionDetails)
            throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
        return result.value;
    }
}

export async function startBrowser(hosts = {}) {
    const browser = new Browser(hosts);
    process.once('exit', () => browser.child.exitCode === null && browser.child.signalCode === null && process.kill(-browser.child.pid, 'SIGKILL'));
    await browser.ask('Browser.getVersion');
    return browser;
}
