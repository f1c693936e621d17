import type {Hewn} from './hewn.js';

/** What verify() found of one kernel. */
export interface Verified {
    /** The kernel's name. */
    variant: string;
    /** How many elements it computed. */
    elements: number;
    /** How many of them differ in a bit from the formula's. Any NaN equals any other. */
    differing: number;
}

/** Runs every kernel of the module on random and special values and compares each result with the
 * formula, which is computed in JavaScript. The same seed, 1 by default, gives the same values. */
export function verify(hewn: Hewn, seed?: number): Verified[];
/** Does the same for one of hewn.variants. */
export function verifyVariant(hewn: Hewn,
    variant: {name: string; operator: string; signature: string}, seed?: number): Verified;
