// Runs a program for WASI in Node.js: run-wasi.mjs PROGRAM ARGUMENT... Its exit status is the
// program's; one that ends itself has 134, as by abort().
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
