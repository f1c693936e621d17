plugins { id("com.android.application") version "8.5.1" }

android {
    namespace = "org.example.hewn"
    compileSdk = 34
    defaultConfig {
        minSdk = 21
        ndk { abiFilters += listOf("arm64-v8a", "x86_64") }
        externalNativeBuild {
            cmake { arguments += "-DANDROID_SUPPORT_FLEXIBLE_PAGE_SIZES=ON" }  // pages of 16 KiB
        }
    }
    buildFeatures { prefab = true }  // CMake finds what the AAR holds
    externalNativeBuild { cmake { path = file("src/main/cpp/CMakeLists.txt") } }
}

dependencies {
    implementation(files("libs/hewn-0.2.0.aar"))
    // With the AAR and its .pom in a Maven repository of yours: implementation("invalid.hewn:hewn:0.2.0")
}
