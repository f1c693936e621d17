plugins { id("com.android.application") version "8.5.1" }

android {
    namespace = "org.example.hewn"
    compileSdk = 34
    defaultConfig {
        minSdk = 21
        ndk { abiFilters += "arm64-v8a" }
        // Where the package of `scripts/cross.sh android-arm64` was unpacked.
        externalNativeBuild { cmake { arguments += "-Dhewn_DIR=${rootDir}/hewn-0.1.0-android-arm64/lib/cmake/hewn" } }
    }
    externalNativeBuild { cmake { path = file("src/main/cpp/CMakeLists.txt") } }
}
