// org.example.hewn.App.target(): hewn's version and the target that runs on this device.
#include <hewn/hewn.h>
#include <jni.h>
#include <stdio.h>

JNIEXPORT jstring JNICALL Java_org_example_hewn_App_target(JNIEnv *env, jobject self) {
    hewn_target_info best = {sizeof best}, info = {sizeof info};
    char text[96];
    (void)self;
    for (uint32_t i = 0; i < hewn_target_count(); i++) {
        if (hewn_get_target(i, &info) == HEWN_STATUS_OK && info.supported)
            best = info;  // ranks ascend
    }
    snprintf(text, sizeof text, "hewn %d.%d.%d, %s", HEWN_VERSION_MAJOR, HEWN_VERSION_MINOR,
             HEWN_VERSION_PATCH, best.name ? best.name : "no target");
    return (*env)->NewStringUTF(env, text);
}
