// Runs a program for WASI in Node.js: run-wasi.mjs PROGRAM ARGUMENT... ctest runs the programs of
// builds for WebAssembly by it. The exit status is the program's, or 134, as after abort(), if the
// program traps.
import {readFile} from 'node:fs/promises';
import {WASI} from 'node:wasi';

const args = process.argv.slice(2);
const wasi = new WASI({version: 'preview1', args, env: process.env, preopens: {'/': '/'}});
const module = await WebAssembly.compile(await readFile(args[0]));
const instance = await WebAssembly.instantiate(module, wasi.getImportObject());
try {
    process.exitCode = wasi.start(instance);
} catch (error) {
    if (!(error instanceof WebAssembly.RuntimeError)) throw error;
    console.error(error.stack);
    process.exitCode = 134;
}
