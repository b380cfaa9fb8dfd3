/* signals.test.mjs -- signals that mean nothing to a gateway do not disturb it: no call of the
 * system that they interrupt is taken for a failure. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { spawn } from 'node:child_process';
import test from 'node:test';
import { ask } from '../lib/client.mjs';
import { startDaemon } from '../lib/daemon.mjs';
import { folder } from '../lib/folder.mjs';
import { startUpstream } from '../lib/upstream.mjs';

/* Sends them one after the other, to every thread of the process, while it lives. */
const FLOOD = `
import os, signal, sys, time
pid, signals = int(sys.argv[1]), [signal.SIGWINCH, signal.SIGCONT, signal.SIGURG, signal.SIGCHLD, signal.SIGSTOP, signal.SIGCONT]
sent, end = 0, time.monotonic() + 120
try:
    while time.monotonic() < end:
        for s in signals:
            os.kill(pid, s)
            sent += 1
        time.sleep(0.0005)
except ProcessLookupError:
    pass
print(sent)
`;

const N = 200;

for (const store of ['memory', 'sqlite']) {
    test(`${N} requests under a flood of signals, store ${store}`, async (t) => {
        const up = await startUpstream();
        t.after(() => up.close());
        const kept = store === 'memory' ? 'memory' : `sqlite:${folder(t, 'antiphon.db')}`;
        const daemon = await startDaemon({ upstream: up.url, args: ['--model', 'm', '--store', kept] });
        const flood = spawn('python3', ['-c', FLOOD, String(daemon.child.pid)], { stdio: ['ignore', 'pipe', 'inherit'] });
        t.after(() => flood.kill('SIGKILL'));
        let previous;
        for (let i = 0; i < N; i += 4) {
            const answers = await Promise.all([
                ask(daemon, { model: 'm', input: 'Hi', previous_response_id: previous }),
                ask(daemon, { model: 'm', input: 'x'.repeat(400_000), store: false }),
                ask(daemon, { model: 'm', input: 'Hi', stream: true }),
                ask(daemon, { model: 'm', messages: [{ role: 'user', content: 'Hi' }] }, { path: '/v1/chat/completions' }),
            ]);
            for (const answer of answers)
                assert.equal(answer.status, 200, answer.text);
            assert.match(answers[2].text, /response.completed/);
            previous = answers[0].json.id;
        }
        flood.kill('SIGKILL');
        await once(flood, 'close');
        process.kill(daemon.child.pid, 'SIGCONT');
        await daemon.stop();
        assert.doesNotMatch(daemon.log, / (error|warn) (?!loop_held)/);
    });
}
