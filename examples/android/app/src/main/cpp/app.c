// The native method target() of org.example.hewn.App. It returns hewn's version and the name of the
// best target (instruction set) that this device can run.
#include <hewn/hewn.h>
#include <jni.h>
#include <stdio.h>

JNIEXPORT jstring JNICALL Java_org_example_hewn_App_target(JNIEnv *env, jobject self) {
    hewn_target_info best = {sizeof best}, info = {sizeof info};
    char text[96];
    (void)self;
    for (uint32_t i = 0; i < hewn_target_count(); i++) {
        // Targets are in ascending priority, so the last supported one is the best.
        if (hewn_get_target(i, &info) == HEWN_STATUS_OK && info.supported) best = info;
    }
    snprintf(text, sizeof text, "hewn %d.%d.%d, %s", HEWN_VERSION_MAJOR, HEWN_VERSION_MINOR,
             HEWN_VERSION_PATCH, best.name ? best.name : "no target");
    return (*env)->NewStringUTF(env, text);
}
