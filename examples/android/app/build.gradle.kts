plugins { id("com.android.application") version "8.5.1" }

android {
    namespace = "org.example.hewn"
    compileSdk = 34
    defaultConfig {
        minSdk = 21
        ndk { abiFilters += listOf("arm64-v8a", "x86_64") }
        externalNativeBuild {
            // Some devices have memory pages of 16 KiB.
            cmake { arguments += "-DANDROID_SUPPORT_FLEXIBLE_PAGE_SIZES=ON" }
        }
    }
    buildFeatures { prefab = true }  // lets CMake find the libraries in the AAR
    externalNativeBuild { cmake { path = file("src/main/cpp/CMakeLists.txt") } }
}

dependencies {
    implementation(files("libs/hewn-0.2.0.aar"))
    // If the AAR and its .pom are in a Maven repository of yours, write instead:
    // implementation("invalid.hewn:hewn:0.2.0")
}
