package org.example.hewn;

/** Loads the native library. Add an activity of your own that shows the text of target(). */
public final class App {
    static { System.loadLibrary("hewn_app"); }

    /** Returns hewn's version and the target that runs on this device. app.c has the code. */
    public native String target();
}
