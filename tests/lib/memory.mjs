/* memory.mjs -- what a process holds of the machine's memory, in MiB. */
import { readFileSync, writeFileSync } from 'node:fs';

export const MIB = 1 << 20;

const status = (daemon, field) =>
    Number(readFileSync(`/proc/${daemon.child.pid}/status`, 'utf8').match(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm'))[1]) / 1024;

export const resident = (daemon) => status(daemon, 'VmRSS');

/* Since it was started, or since forgetPeak(). */
export const peak = (daemon) => status(daemon, 'VmHWM');

export const forgetPeak = (daemon) => writeFileSync(`/proc/${daemon.child.pid}/clear_refs`, '5');

/* Waits until that is no more than so much; what it came to. */
export async function settled(daemon, most, ms = 15_000) {
    for (const deadline = performance.now() + ms; resident(daemon) > most && performance.now() < deadline;)
        await new Promise((done) => setTimeout(done, 100));
    return resident(daemon);
}
