package org.example.hewn;

/** Add an activity of your own that shows target(). */
public final class App {
    static { System.loadLibrary("hewn_app"); }

    public native String target();
}
