plugins { id("com.android.application") version "8.5.1" }

android {
    namespace = "org.example.hewn"
    compileSdk = 34
    defaultConfig {
        minSdk = 21
        ndk { abiFilters += "arm64-v8a" }
        externalNativeBuild {
            cmake {
                // Where the package of `ANDROID_NDK_HOME=... scripts/cross.sh android-arm64` was unpacked.
                arguments += "-Dhewn_DIR=${rootDir}/hewn-0.1.0-android-arm64/lib/cmake/hewn"
                arguments += "-DANDROID_SUPPORT_FLEXIBLE_PAGE_SIZES=ON"  // pages of 16 KiB
            }
        }
    }
    externalNativeBuild { cmake { path = file("src/main/cpp/CMakeLists.txt") } }
}
